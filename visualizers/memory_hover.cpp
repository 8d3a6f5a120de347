#include <algorithm>
#include <string>
#include <utility>

#include "core/timeline/metrics.h"
#include "visualizers/memory_view.h"
#include "visualizers/timeline_model.h"
#include "visualizers/viewmodel/format.h"

namespace trainyard {
namespace {

std::string_view category_word(Category category) {
  switch (category) {
    case Category::Framework:
      return "context";
    case Category::Weights:
      return "weights";
    case Category::OptimizerState:
      return "optimizer state";
    case Category::Gradients:
      return "gradients";
    case Category::Activations:
      return "activations";
    case Category::Recomputed:
      return "recomputed";
    case Category::Communication:
      return "communication";
    case Category::Workspace:
      return "workspace";
  }
  return "";
}

std::string split_text(const CategoryBytes& bytes) {
  std::string words;
  for (std::size_t c = 0; c < bytes.size(); ++c) {
    if (bytes[c].value == 0) continue;
    words += (words.empty() ? "" : ", ") + std::string(category_word(static_cast<Category>(c))) +
             " " + format_bytes(bytes[c]);
  }
  return words;
}

Hover describe_wave(const MemoryModel& model, DeviceId device, Instant at) {
  const Experiment& experiment = *model.experiment;
  const StepCurve& curve = model.totals[device.value];
  const auto after = std::upper_bound(curve.at.begin(), curve.at.end(), at.count());
  const auto sample =
      static_cast<std::size_t>(std::max<std::ptrdiff_t>(0, after - curve.at.begin() - 1));
  const std::int64_t held = curve.value[sample], spare = experiment.result.capacity.value - held;
  Hover hover{rank_name(experiment.program, device),
              "memory at " + instant_text(at, model.end),
              format_bytes({held}),
              {}};
  hover.lines.push_back(split_text(experiment.waves[device.value].samples[sample].bytes));
  hover.lines.push_back(spare_text(spare) + " of " + format_bytes(experiment.result.capacity));
  hover.lines.push_back(sample == curve.peak
                            ? "this is the peak"
                            : format_bytes({peak_bytes(curve) - held}) + " under the peak at " +
                                  instant_text(peak_at(curve), model.end));
  if (std::string words = peak_range_text(experiment, device); !words.empty())
    hover.lines.push_back(std::move(words));
  const std::vector<Alive> alive = alive_at(experiment.timeline, experiment.program, device, at);
  for (std::size_t i = 0; i < std::min<std::size_t>(5, alive.size()); ++i) {
    const Buffer& buffer = experiment.program.buffers[alive[i].buffer.value];
    std::string words =
        format_bytes(alive[i].bytes) + " " + std::string(experiment.program.name(buffer.name));
    if (alive[i].instances > 1) words += " \u00D7 " + std::to_string(alive[i].instances);
    hover.lines.push_back(words);
  }
  return hover;
}

}  // namespace

Hover describe_memory(const MemoryModel& model, Item item, Instant at) {
  const Bytes capacity = model.experiment->result.capacity;
  if (item.kind == ItemKind::Capacity)
    return {"Capacity",
            "of each device",
            format_bytes(capacity),
            {format_count(capacity.value) + " bytes, as the driver reports it"}};
  if ((item.kind != ItemKind::Wave && item.kind != ItemKind::Peak) ||
      item.tag >= model.totals.size())
    return {};
  const DeviceId device{static_cast<std::uint32_t>(item.tag)};
  return describe_wave(model, device,
                       item.kind == ItemKind::Peak ? peak_at(model.totals[device.value]) : at);
}

}  // namespace trainyard

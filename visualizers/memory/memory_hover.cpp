#include <algorithm>
#include <string>
#include <utility>

#include "core/timeline/metrics.h"
#include "visualizers/memory/memory_view.h"
#include "visualizers/time/memory_stack.h"
#include "visualizers/time/timeline_model.h"
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

// The largest first, those that hold something.
std::string stack_text(const MemoryStack& stack, std::size_t sample) {
  constexpr std::size_t kTold = 4;
  std::vector<const StackBand*> bands;
  for (const StackBand& band : stack.bands)
    if (band.bytes[sample] > 0) bands.push_back(&band);
  std::stable_sort(bands.begin(), bands.end(), [&](const StackBand* a, const StackBand* b) {
    return a->bytes[sample] > b->bytes[sample];
  });
  std::string words;
  for (std::size_t i = 0; i < std::min(kTold, bands.size()); ++i)
    words += (words.empty() ? "" : "; ") + bands[i]->name + ": " +
             format_bytes({bands[i]->bytes[sample]});
  return words + (bands.size() > kTold ? "; \u2026" : "");
}

// The five largest of what is alive.
std::string tensors_text(const Experiment& experiment, DeviceId device, Instant at) {
  constexpr std::size_t kTold = 5;
  const std::vector<Alive> alive = alive_at(experiment.timeline, experiment.program, device, at);
  std::string words;
  for (std::size_t i = 0; i < std::min(kTold, alive.size()); ++i) {
    const Buffer& buffer = experiment.program.buffers[alive[i].buffer.value];
    words +=
        (words.empty() ? "largest: " : ", ") + std::string(experiment.program.name(buffer.name));
    if (alive[i].instances > 1) words += " \u00D7 " + std::to_string(alive[i].instances);
    words += " " + format_bytes(alive[i].bytes);
  }
  return words;
}

Hover describe_wave(const MemoryModel& model, DeviceId device, Instant at, const ViewState& state) {
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
  hover.lines.push_back(state.stack_by == StackBy::Category
                            ? split_text(experiment.waves[device.value].samples[sample].bytes)
                            : stack_text(*stack_of(experiment, device, state), sample));
  hover.lines.push_back(headroom_text(spare, experiment.result.capacity));
  hover.lines.push_back(sample == curve.peak
                            ? "this is the peak"
                            : format_bytes({peak_bytes(curve) - held}) + " under the peak at " +
                                  instant_text(peak_at(curve), model.end));
  hover.lines.push_back(tensors_text(experiment, device, at));
  if (std::string words = peak_range_text(experiment, device); !words.empty())
    hover.lines.push_back(std::move(words));
  return hover;
}

}  // namespace

Hover describe_memory(const MemoryModel& model, Item item, Instant at, const ViewState& state) {
  const Bytes capacity = model.experiment->result.capacity;
  if (item.kind == ItemKind::Capacity)
    return {"Capacity",
            "per device",
            format_bytes(capacity),
            {format_count(capacity.value) + " bytes, as the driver reports it"}};
  if ((item.kind != ItemKind::Wave && item.kind != ItemKind::Peak) ||
      item.tag >= model.totals.size())
    return {};
  const DeviceId device{static_cast<std::uint32_t>(item.tag)};
  return describe_wave(
      model, device, item.kind == ItemKind::Peak ? peak_at(model.totals[device.value]) : at, state);
}

}  // namespace trainyard

#include <algorithm>
#include <string>
#include <utility>

#include "visualizers/time/memory_model.h"
#include "visualizers/timeline/timeline_view.h"
#include "visualizers/viewmodel/format.h"
#include "visualizers/waves/waves_parts.h"
#include "visualizers/waves/waves_view.h"

namespace trainyard {
namespace {

Hover describe_offset(const WavesModel& model, const WavesLayout& layout, float x) {
  const DeviceWaves& waves = model.devices[layout.device.value];
  const double share = offset_at(model, layout, x);
  const OffsetScan scan = scan_of(model, layout.device);
  Hover hover{"Offset " + two_digits(share) + " T",
              format_step_time(offset_time(model, waves, share)) + " after the previous wave",
              {},
              {}};
  if (scan.share.empty()) return hover;
  const std::int64_t bytes = peak_at_offset(scan, share);
  hover.value = format_bytes({bytes});
  hover.lines = {headroom_text(capacity_of(model) - bytes, {capacity_of(model)}),
                 "lowest " + format_bytes({scan.bytes[scan.best]}) + " at " +
                     two_digits(scan.share[scan.best]) + " T, aligned " +
                     format_bytes({scan.bytes.front()})};
  return hover;
}

Hover describe_part(const WavesModel& model, const DeviceWaves& waves, std::size_t part, Instant at,
                    const std::string& where) {
  if (part >= waves.parts.size()) return {};
  const auto after = std::upper_bound(waves.total.at.begin(), waves.total.at.end(), at.count());
  const auto sample =
      static_cast<std::size_t>(std::max<std::ptrdiff_t>(0, after - waves.total.at.begin() - 1));
  Hover hover{part == 0          ? "Model state"
              : model.waves == 1 ? "Microbatches"
                                 : wave_name(model, static_cast<int>(part) - 1),
              where + " at " + instant_text(at, model.end),
              format_bytes({waves.parts[part][sample]}),
              {}};
  const std::int64_t sum = waves.total.value[sample];
  hover.lines.push_back("sum " + format_bytes({sum}) + ", " +
                        headroom_text(capacity_of(model) - sum));
  const auto& own = waves.parts[part];
  hover.lines.push_back("at most " + format_bytes({*std::max_element(own.begin(), own.end())}) +
                        " in the run");
  if (std::string words = peak_range_text(*model.experiment, waves.device); !words.empty())
    hover.lines.push_back(std::move(words));
  return hover;
}

}  // namespace

Instant waves_instant(const WavesModel& model, const WavesLayout& layout, const ViewState& state,
                      Point point) {
  const Viewport v = viewport_of(layout.ruler, state, model.end);
  const bool phase = state.by_phase && contains(layout.memory, point);
  return phase ? phase_instant(model.devices[layout.device.value],
                               {v.plot.x, layout.memory.y, v.plot.width, layout.memory.height},
                               point.x)
               : time_at(v, static_cast<double>(point.x));
}

Hover describe_waves(const WavesModel& model, const TimelineModel& timeline, const Rect& area,
                     const ViewState& state, Item item, Point point) {
  if (model.devices.empty()) return {};
  const WavesLayout layout = waves_layout(model, area, state);
  const DeviceWaves& waves = model.devices[layout.device.value];
  const std::string& where = timeline.ranks[layout.device.value].name;
  const Instant at = waves_instant(model, layout, state, point);
  if (item.kind == ItemKind::Other && item.tag >= kMarkTag)
    return describe_mark(state, item, model.end);
  switch (item.kind) {
    case ItemKind::Other:
      return describe_offset(model, layout, point.x);
    case ItemKind::Wave:
      return describe_part(model, waves, item.tag, at, where);
    case ItemKind::Peak:
      return describe_part(model, waves, model.waves == 1 ? 1 : 0,
                           Instant{waves.total.at[waves.total.peak]}, where);
    case ItemKind::Capacity:
      return {"Capacity", "per device", format_bytes({capacity_of(model)}), {}};
    default:
      return describe_timeline(timeline, area, state, item);
  }
}

}  // namespace trainyard

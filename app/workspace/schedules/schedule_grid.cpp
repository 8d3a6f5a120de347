#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "app/workspace/schedules/schedule_study.h"

namespace trainyard {
namespace {

// One column is the longest time that divides every span. If times have little in common, it is
// half of the shortest pass, and boxes are drawn to that resolution.
Duration column_time(const ScheduleStudy& study) {
  std::int64_t unit = 0, shortest = 0;
  for (const auto& lane : study.spans)
    for (const Span& span : lane) {
      unit = std::gcd(std::gcd(unit, span.start.count()), span.end.count());
      const std::int64_t length = span.length().count();
      if (length > 0 && (shortest == 0 || length < shortest)) shortest = length;
    }
  constexpr std::int64_t kMostColumns = 3;  // for the shortest pass
  if (unit > 0 && shortest / unit > kMostColumns) unit = shortest / 2;
  return Duration{std::max<std::int64_t>(unit, 1)};
}

// A label such as "F3", followed by the chunk or the wave if there are several.
class Labels {
 public:
  explicit Labels(const ScheduleStudy& study)
      : devices_(static_cast<std::uint32_t>(study.request.devices)),
        chunks_(study.request.virtual_stages > 1) {
    for (const Lane& lane : study.order.lanes)
      for (const Action& a : lane.actions) waves_ |= a.wave > 0;
  }

  std::string of(const Action& a) const {
    std::string label = fmt::format("{}{}", letter(a.phase), a.microbatch);
    if (chunks_) label += fmt::format("'{}", a.stage.value / devices_);
    if (waves_ && !chunks_) label += fmt::format("'{}", a.wave);
    return label;
  }

 private:
  std::uint32_t devices_;
  bool chunks_, waves_ = false;
};

// A name such as "d0", followed by the lane's name if a device has several.
std::vector<std::string> row_names(const ScheduleStudy& study) {
  std::vector<int> lanes(static_cast<std::size_t>(study.request.devices), 0);
  for (const Lane& lane : study.order.lanes) ++lanes[lane.device.value];
  std::vector<std::string> names;
  std::size_t widest = 4;
  for (const Lane& lane : study.order.lanes) {
    names.push_back(fmt::format("d{}", lane.device.value));
    if (lanes[lane.device.value] > 1) names.back() += "/" + lane.name;
    widest = std::max(widest, names.back().size());
  }
  for (std::string& name : names) name.resize(widest, ' ');
  return names;
}

}  // namespace

std::string grid(const ScheduleStudy& study, std::size_t columns) {
  const Labels labels(study);
  std::size_t cell = 3;
  for (const Lane& lane : study.order.lanes)
    for (const Action& action : lane.actions)
      if (action.phase != Phase::Update) cell = std::max(cell, labels.of(action).size() + 1);
  const Duration unit = column_time(study);
  const std::size_t most = std::max<std::size_t>(8, columns / cell);
  Duration end{0};
  for (const auto& lane : study.spans)
    if (!lane.empty()) end = std::max(end, lane.back().end);
  const auto whole = static_cast<std::size_t>(end / unit);
  const std::size_t shown = std::min(whole, most);
  const std::vector<std::string> names = row_names(study);
  std::string text;
  for (std::size_t l = 0; l < study.order.lanes.size(); ++l) {
    const Lane& lane = study.order.lanes[l];
    std::string row(shown * cell, ' ');
    for (std::size_t c = 0; c < shown; ++c) row[c * cell] = '.';
    for (std::size_t i = 0; i < lane.actions.size(); ++i) {
      const auto from = static_cast<std::size_t>(study.spans[l][i].start / unit);
      const auto to = std::min(shown, static_cast<std::size_t>(study.spans[l][i].end / unit));
      if (from >= to) continue;
      const std::string label = labels.of(lane.actions[i]);
      std::string box(cell * (to - from) - 1, '-');
      box.replace(0, std::min(box.size(), label.size()), label.substr(0, box.size()));
      row.replace(from * cell, box.size(), box);
    }
    text += names[l] + " " + row.substr(0, row.find_last_not_of(' ') + 1) + "\n";
  }
  if (shown < whole) text += fmt::format("     ... {} more columns\n", whole - shown);
  return text;
}

}  // namespace trainyard

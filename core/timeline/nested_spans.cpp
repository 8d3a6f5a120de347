#include "core/timeline/nested_spans.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/base/nearest.h"

namespace trainyard {
namespace {

constexpr std::array<std::string_view, kSpanLevels> kLevelNames = {"annotation", "task", "op",
                                                                   "kernel"};

}  // namespace

std::string_view to_string(SpanLevel level) { return kLevelNames[static_cast<std::size_t>(level)]; }

SpanLevels span_levels(std::string_view list, const std::string& place) {
  if (list == "all") return SpanLevels::all();
  SpanLevels levels;
  for (std::size_t from = 0; from <= list.size();) {
    const std::size_t comma = std::min(list.find(',', from), list.size());
    const std::string_view word = list.substr(from, comma - from);
    const auto found = std::find(kLevelNames.begin(), kLevelNames.end(), word);
    if (found == kLevelNames.end())
      refuse(place,
             "expected all, or some of annotation, task, op, kernel with commas between, "
             "found \"" +
                 std::string(word.substr(0, 60)) + "\"" +
                 did_you_mean(word.substr(0, 60), kLevelNames));
    levels = levels.with(static_cast<SpanLevel>(found - kLevelNames.begin()));
    from = comma + 1;
  }
  return levels;
}

std::string to_string(SpanLevels levels) {
  std::string text;
  for (const SpanLevel level : kEverySpanLevel)
    if (levels.has(level)) text += (text.empty() ? "" : ", ") + std::string(to_string(level));
  return text.empty() ? "none" : text;
}

std::array<std::int64_t, kSpanLevels> span_counts(const NestedSpans& spans) {
  std::array<std::int64_t, kSpanLevels> counts{};
  for (const std::vector<SpanEvent>& thread : spans.threads)
    for (const SpanEvent& event : thread)
      if (event.begins) ++counts[static_cast<std::size_t>(event.level)];
  return counts;
}

}  // namespace trainyard

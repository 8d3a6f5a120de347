#include "planners/branches/stage_time.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "planners/index.h"

namespace trainyard {
namespace {

Duration alone(const std::vector<int>& operators, const std::vector<OperatorTime>& times) {
  Duration sum{};
  for (const int one : operators) sum += times[at(one)].alone;
  return sum;
}

// A core and where it is in its operators.
struct Working {
  const std::vector<int>* operators;
  int core = 0;
  std::size_t next = 0;
  double left = 1;  // share of its operator that is still to do
  double since = 0;

  bool done() const { return next == operators->size(); }
};

}  // namespace

std::vector<std::vector<int>> deal(const OperatorGroups& groups,
                                   const std::vector<OperatorTime>& times, int cores) {
  std::vector<const OperatorGroup*> longest;
  for (const OperatorGroup& group : groups) longest.push_back(&group);
  std::stable_sort(longest.begin(), longest.end(), [&](const auto* a, const auto* b) {
    return alone(*a, times) > alone(*b, times);
  });
  std::vector<std::vector<int>> dealt(std::min(at(cores), groups.size()));
  std::vector<Duration> has(dealt.size());
  for (const OperatorGroup* group : longest) {
    const auto core =
        static_cast<std::size_t>(std::min_element(has.begin(), has.end()) - has.begin());
    dealt[core].insert(dealt[core].end(), group->begin(), group->end());
    has[core] += alone(*group, times);
  }
  return dealt;
}

Duration stage_time(const OperatorGroups& groups, const std::vector<OperatorTime>& times,
                    const CoreSharing& sharing) {
  if (groups.size() == 1) return alone(groups.front(), times);
  const std::vector<OperatorSpan> spans = operator_spans(groups, times, sharing);
  return sharing.join + (spans.empty() ? Duration{} : spans.back().end);
}

std::vector<OperatorSpan> operator_spans(const OperatorGroups& groups,
                                         const std::vector<OperatorTime>& times,
                                         const CoreSharing& sharing) {
  const std::vector<std::vector<int>> dealt = deal(groups, times, sharing.cores);
  std::vector<Working> working;
  for (std::size_t core = 0; core < dealt.size(); ++core)
    working.push_back({&dealt[core], static_cast<int>(core)});
  std::vector<OperatorSpan> spans;
  double now = 0;
  while (!working.empty()) {
    const double busy = sharing.cores < 2 ? 0
                                          : static_cast<double>(working.size() - 1) /
                                                static_cast<double>(sharing.cores - 1);
    const auto takes = [&](const Working& core) {
      const OperatorTime& time = times[at((*core.operators)[core.next])];
      return static_cast<double>(time.alone.count()) +
             busy * static_cast<double>((time.beside - time.alone).count());
    };
    double step = std::numeric_limits<double>::max();
    for (const Working& core : working) step = std::min(step, core.left * takes(core));
    now += step;
    for (Working& core : working) {
      const double whole = takes(core);
      core.left -= whole > 0 ? step / whole : 1;
      if (core.left > 1e-12) continue;
      spans.push_back({(*core.operators)[core.next], core.core, Duration{std::llround(core.since)},
                       Duration{std::llround(now)}});
      ++core.next, core.left = 1, core.since = now;
    }
    std::erase_if(working, [](const Working& core) { return core.done(); });
  }
  return spans;
}

}  // namespace trainyard

#include "app/workspace/scenario/recompute.h"

#include <algorithm>

#include "app/workspace/scenario/run_once.h"
#include "core/base/error.h"
#include "core/methods/settings/settings.h"
#include "planners/recompute/recompute_plan.h"

namespace trainyard {
namespace {

constexpr int kMostRounds = 4;

// By how much the simulator sees the plan over its memory; nothing where it fits, or where it is
// too large to simulate.
Bytes simulated_excess(const Scenario& scenario, const CostModel& cost) {
  try {
    const auto run = run_once(scenario, {.grain = natural_grain(scenario), .cost = &cost});
    return std::max(Bytes{}, -run->result.verdict.margin);
  } catch (const Error& error) {
    if (error.kind() != Error::Kind::InvalidInput) throw;
    return {};
  }
}

}  // namespace

RecomputeWords split_recompute_words(const std::string& words) {
  RecomputeWords split;
  for (std::size_t from = 0; from < words.size();) {
    const bool order = words.compare(from, 6, "order=") == 0;  // goes on to the end
    const std::size_t end = order ? words.size() : std::min(words.find(' ', from), words.size());
    const std::string word = words.substr(from, end - from);
    const std::size_t equals = word.find('=');
    const Setting* setting =
        equals == std::string::npos ? nullptr : find_setting(word.substr(0, equals));
    const bool about = setting != nullptr && setting->key == "recompute";
    const bool optimal = about && word.substr(equals + 1) == "optimal";
    if (about) split.said = true, split.optimal = optimal;
    if (!optimal) split.others += (split.others.empty() ? "" : " ") + word;
    from = end + 1;
  }
  return split;
}

void choose_recompute(Scenario& scenario, const CostModel& cost) {
  RecomputeOptions options;
  options.limit = scenario.cluster.device.memory.value;
  for (int round = 0; round < kMostRounds; ++round) {
    const RecomputeChoice choice = optimal_recompute(scenario, cost, options);
    apply_setting(scenario.plan, "recompute", choice.text);
    const Bytes over = simulated_excess(scenario, cost);
    if (over.value == 0) return;
    options.limit = options.limit - std::max(Bytes{1}, over);
  }
}

}  // namespace trainyard

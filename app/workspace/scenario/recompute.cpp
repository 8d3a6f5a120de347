#include "app/workspace/scenario/recompute.h"

#include <algorithm>
#include <string_view>

#include "app/workspace/scenario/run_once.h"
#include "core/base/error.h"
#include "core/base/units_text.h"
#include "core/methods/settings/settings.h"
#include "planners/recompute/recompute_plan.h"

namespace trainyard {
namespace {

constexpr int kMostRounds = 4;
constexpr std::string_view kOptimal = "optimal";

// The bytes by which the simulator sees the fullest device above the limit; 0 where the plan fits,
// or where it is too large to simulate.
Bytes simulated_excess(const Scenario& scenario, Bytes limit, const CostModel& cost) {
  try {
    const auto run = run_once(scenario, {.grain = natural_grain(scenario), .cost = &cost});
    const Bytes held = scenario.cluster.device.memory.value - run->result.verdict.margin;
    return std::max(Bytes{}, held - limit);
  } catch (const Error& error) {
    if (error.kind() != Error::Kind::InvalidInput) throw;
    return {};
  }
}

Bytes parse_budget(std::string_view text) {
  const Place place{"--set recompute"};
  const Bytes budget = parse_bytes(text, place);
  if (budget.value == 0)
    throw Error(Error::Kind::InvalidInput,
                "expected a budget above 0 B, such as optimal:20GiB, found " + std::string(text),
                place);
  return budget;
}

}  // namespace

RecomputeWords split_recompute_words(const std::string& words) {
  RecomputeWords split;
  for (std::size_t from = 0; from < words.size();) {
    const bool order = words.compare(from, 6, "order=") == 0;  // an order is the rest of the text
    const std::size_t end = order ? words.size() : std::min(words.find(' ', from), words.size());
    const std::string word = words.substr(from, end - from);
    const std::size_t equals = word.find('=');
    const Setting* setting =
        equals == std::string::npos ? nullptr : find_setting(word.substr(0, equals));
    const bool about = setting != nullptr && setting->key == "recompute";
    const std::string_view value = about ? std::string_view(word).substr(equals + 1) : "";
    const bool stated = value.starts_with("optimal:");
    const bool optimal = value == kOptimal || stated;
    if (about) {
      split.said = true, split.optimal = optimal;
      split.budget.reset();
      if (stated) split.budget = parse_budget(value.substr(kOptimal.size() + 1));
    }
    if (!optimal) split.others += (split.others.empty() ? "" : " ") + word;
    from = end + 1;
  }
  return split;
}

void choose_recompute(Scenario& scenario, const CostModel& cost, std::optional<Bytes> budget) {
  const Bytes memory = scenario.cluster.device.memory.value;
  const Bytes limit = std::min(budget.value_or(memory), memory);
  RecomputeOptions options;
  options.limit = limit;
  for (int round = 0; round < kMostRounds; ++round) {
    const RecomputeChoice choice = optimal_recompute(scenario, cost, options);
    apply_setting(scenario.plan, "recompute", choice.text);
    const Bytes over = simulated_excess(scenario, limit, cost);
    if (over.value == 0) return;
    options.limit = options.limit - over;
  }
}

}  // namespace trainyard

// Stages whose operators may run as one: side by side on the cores, merged, or both.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "planners/branches/stage_time.h"

namespace trainyard {

/// The ways in which stages may use operators that are independent; the paper's IOS-Parallel,
/// IOS-Merge and IOS-Both.
enum class StageStrategy : std::uint8_t {
  Concurrent,  // groups beside each other on the cores
  Merged,      // operators as one, and one after another on one core
  Both,        // whichever takes less, and merged operators beside others
};
inline constexpr std::string_view kStageStrategies[] = {"concurrent", "merged", "both"};
std::string_view to_string(StageStrategy);  // one of them

/// The operators of the groups with each of these merges of the graph as one operator, whose number
/// is the number of operators plus that of the merge; in groups that wait for nothing in each
/// other, each in an order that dependences allow. Empty where merged operators would wait for each
/// other. The merges must share no operator and lie in the groups.
std::optional<OperatorGroups> merged_groups(const OperatorGraph&, const OperatorGroups&,
                                            const std::vector<int>& merges);

/// The price of a stage by stage_time(), with merges of the graph where that takes less. They are
/// taken one by one, each time the one that gains most, until none gains. Times are by operator,
/// and then by merge of the graph.
StagePrice merged_stage(const OperatorGraph&, const OperatorGroups&,
                        const std::vector<OperatorTime>&, const CoreSharing&);

/// Everything in one stage of one core, with merges as merged_stage() takes them.
OperatorSchedule merged_stages(const OperatorGraph&, const std::vector<OperatorTime>&);

/// The best stages of each strategy. Those of both are the quickest of the three, so that they take
/// at most as long as the others, which matters where the search was cut.
struct StrategyStages {
  OperatorSchedule concurrent, merged;
  BestStages both;
};
/// Throws what best_stages() throws.
StrategyStages strategy_stages(const OperatorGraph&, const std::vector<OperatorTime>&,
                               const CoreSharing&, const StageLimits& = {},
                               const std::stop_token& = {});

}  // namespace trainyard

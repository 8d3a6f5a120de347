// Inter-operator scheduling: the operators of a layer in stages that run one after another, where a
// stage is several groups that run beside each other, and a group several operators one after
// another. Dynamic programming over endings finds the quickest stages.
//
//   conv1 -> conv2 -+                 stage 1   conv1, conv2 | conv3
//   conv3 ----------+-> add           stage 2   add
//
// An ending of a set of operators is a part of it that nothing outside it, in the set, waits for:
// it may be the last stage. cost(S) = min over endings E of cost(S - E) + time(E), and cost of
// nothing is nothing.
//
// Ding et al., "IOS: Inter-Operator Scheduler for CNN Acceleration", MLSys 2021.
#pragma once

#include <cstdint>
#include <functional>
#include <stop_token>
#include <vector>

#include "core/base/units.h"
#include "core/methods/layers/operator_graph.h"

namespace trainyard {

/// Operators that run one after another, in ascending order.
using OperatorGroup = std::vector<int>;
using OperatorGroups = std::vector<OperatorGroup>;

struct StagePrice {
  Duration time{};
  /// The groups as they run, where that is not as they are: operators that run as one, because
  /// that takes less, are one operator, whose number is the number of operators plus that of the
  /// merge in the graph. Empty where the groups run as they are.
  OperatorGroups run = {};
};
/// Prices a stage. It must give the same answer for the same groups.
using PriceStage = std::function<StagePrice(const OperatorGroups&)>;

struct OperatorStage {
  OperatorGroups groups;  // by their first operator
  StagePrice price;

  const OperatorGroups& as_run() const { return price.run.empty() ? groups : price.run; }
};

struct OperatorSchedule {
  std::vector<OperatorStage> stages;
  Duration time{};  // the sum of its stages
};

/// Each operator is a stage, in the order of the graph.
OperatorSchedule sequential_stages(const OperatorGraph&, const PriceStage&);
/// Each stage is every operator that waits for nothing more, each in a group of its own.
OperatorSchedule greedy_stages(const OperatorGraph&, const PriceStage&);

struct StageLimits {
  int group_size = 16;  // operators of a group, >= 1; the paper has 3, each with its activation
  int groups = 8;       // of a stage, >= 1; the paper's s
  int block = 32;       // operators that are searched as one, in [1, 64]
  std::int64_t endings = 1 << 20;  // that are tried in a block before it is halved, >= 1
};

struct BestStages {
  OperatorSchedule schedule;
  std::int64_t states = 0;   // sets of operators whose cost was found
  std::int64_t endings = 0;  // that were tried for them
  std::int64_t priced = 0;   // different stages that were priced
  int blocks = 0;            // that were searched one after another
  bool exact = true;         // no block was cut to keep the search small
  bool greedy = false;       // the limits leave out the greedy schedule, which is quicker
};

/// The quickest schedule within the limits, or the greedy one where that is quicker; so it is never
/// slower than either of the two above.
///
/// The search is over one block after another. A block begins at an operator that all before it
/// lead to and all behind it wait for: a group with it has all of its stage, so that cutting there
/// loses nothing where a stage of one group takes as long as its operators do one by one. No cut
/// is made among operators that may run as one. The
/// number of states grows with the width of a block, not with the length of the graph. A block that
/// is longer than `block`, or takes more than `endings`, is cut in two, which may lose something:
/// then `exact` is false.
///
/// Throws Error{InvalidInput} for limits outside their ranges, what check_operators() throws, and
/// Error{Cancelled} when stopped.
BestStages best_stages(const OperatorGraph&, const PriceStage&, const StageLimits& = {},
                       const std::stop_token& = {});

}  // namespace trainyard

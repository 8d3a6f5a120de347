// The catalogue lists the rules; a RuleSet is those that a run is watched by, with their limits.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/rules/rule.h"

namespace trainyard {

/// Every rule, in the order of help: those on tensors, on losses and answers, on timelines.
std::span<const Rule* const> rules();
/// Throws Error{InvalidInput} with the nearest name.
const Rule& rule(std::string_view name, const Place& = {});

struct ChosenRule {
  const Rule* rule = nullptr;
  Params params;  // all of the rule's
};
/// In the order of the catalogue, none twice.
using RuleSet = std::vector<ChosenRule>;

/// All rules but those that want to be named, with their defaults.
RuleSet usual_rules();
/// Reads "all", names, and settings of a rule, which choose it too, with commas between them:
/// "all,dead-relu.inactivity=5". An empty text is "all". Throws Error{InvalidInput} for a name, a
/// setting or a value that there is not, with the nearest, and for one that is given twice.
RuleSet parse_rules(std::string_view, const Place& = {"--rules"});
/// The shortest text that reads back as the set.
std::string to_text(const RuleSet&);

RuleReads reads_of(const RuleSet&);

/// Evaluates the rules on timelines. Each says what to try.
FiredRules judge_timeline(const RuleSet&, const TimelineFacts&);

// Rules on tensors.
const Rule& vanishing_gradient();
const Rule& exploding_tensor();
const Rule& weight_update_ratio();
const Rule& all_zero();
const Rule& unchanged_tensor();
const Rule& cancelled_updates();
const Rule& dead_relu();
const Rule& saturated_activation();
const Rule& poor_weight_initialization();
const Rule& tensor_variance();
const Rule& check_input_images();
const Rule& nlp_sequence_ratio();
// Rules on losses, answers and what a run holds.
const Rule& loss_not_decreasing();
const Rule& overfit();
const Rule& overtraining();
const Rule& class_imbalance();
const Rule& confusion();
const Rule& loss_scale_collapse();
const Rule& stash_leak();
const Rule& arena_overflow();
const Rule& similar_across_runs();
// Rules on timelines.
const Rule& low_gpu_utilization();
const Rule& load_balancing();
const Rule& io_bottleneck();
const Rule& cpu_bottleneck();
const Rule& step_outlier();
const Rule& gpu_memory_increase();
const Rule& max_initialization_time();
const Rule& staleness_beyond_bound();
const Rule& plan_drift();
const Rule& batch_size();

}  // namespace trainyard

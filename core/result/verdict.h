// This file words the verdict: whether the plan fits, by how much, where, when, in which phase, and
// what makes up the peak.
#pragma once

#include <string>

#include "core/cost/cost_model.h"
#include "core/result/experiment.h"
#include "core/rules/timeline_facts.h"

namespace trainyard {

/// Returns everything of a verdict that follows from one run. Callers that may simulate further
/// plans fill in fixes and gain. `memory` is what each device has reserved, where that is known;
/// without it, the bytes held are judged.
Verdict judge(const Workload&, const Program&, const Timeline&, const std::vector<MemoryWave>&,
              const Breakdown& device_time, Bytes capacity,
              const std::vector<StageMemory>& memory = {});

/// States the memory of each device where kinds of devices differ; the result's capacity is then
/// that of the verdict's worst device.
void state_capacities(const Workload&, Result&);

/// Returns "62.1 GiB", or "62.1 GiB, 64.6 GiB reserved," where the allocator reserves more.
std::string held_of(Bytes peak, Bytes reserved);

/// Returns in words what several waves on one device can gain over one wave: at most a factor of
/// one over the share of the device that one wave fills, and nothing where that share is all of it.
/// Empty for a program of one wave, and where each device has only one lane of computation.
std::string sharing_sentence(const Program&, const TaskPrices&);

/// Returns the result of a simulated or measured run.
Result summarize(const Workload&, Grain, const Program&, const TaskPrices&, const Timeline&,
                 const std::vector<MemoryWave>&, const CostModel&);

/// Returns what rules are shown of a simulated or measured run, whose breakdowns these are.
TimelineFacts facts_for_rules(const Result&, const Timeline&, const std::vector<MemoryWave>&,
                              const std::vector<Breakdown>&);

/// Fills in what simulated, measured and estimated results have in common: names, bands,
/// utilisation, energy, money and what is left out. Reads step.value, model_flops and
/// hardware_flops of the result; the uses are those of all devices in the step, by kind. Throws
/// Error{Internal} when the hardware would do more than its dense peak.
void state_common(Result&, const Workload&, const CostModel&, const std::vector<PoweredUse>&);
/// Returns these uses of a program, from the breakdowns of one device of each pipeline rank.
std::vector<PoweredUse> device_uses(const Workload&, const Program&, const TaskPrices&,
                                    const std::vector<Breakdown>&);

/// Returns the single-setting changes worth trying on this plan, as arguments of --set
/// ("key=value", or two separated by a space where one alone is not legal), in a fixed order: those
/// that could free memory when the plan does not fit, those that could save time when it does. None
/// of them is the plan itself; some may be illegal.
std::vector<std::string> candidate_changes(const Workload&, bool fits);

}  // namespace trainyard

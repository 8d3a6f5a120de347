// The verdict in words: fits or not, by how much, where, when, in which phase, and what makes the
// crest.
#pragma once

#include <string>

#include "core/cost/cost_model.h"
#include "core/result/experiment.h"

namespace trainyard {

/// Everything of a verdict that follows from one run; fixes and gain are filled by whoever may
/// simulate further plans. `memory`: what each device has reserved, where that is known; else what
/// it holds is all.
Verdict judge(const Workload&, const Program&, const Timeline&, const std::vector<MemoryWave>&,
              const Breakdown& device_time, Bytes capacity,
              const std::vector<StageMemory>& memory = {});

/// "62.1 GiB", or where the allocator has reserved more for it: "62.1 GiB, 64.6 GiB reserved,".
std::string held_of(Bytes peak, Bytes reserved);

/// What several waves that share a device can gain over one, in words: at most one over the share
/// of it that one wave fills, and nothing where that is all of it. Empty for a program of one wave,
/// and where each device has but one lane of computation.
std::string sharing_sentence(const Program&, const TaskPrices&);

/// The result of a simulated or measured run.
Result summarize(const Workload&, Grain, const Program&, const TaskPrices&, const Timeline&,
                 const std::vector<MemoryWave>&, const CostModel&);

/// What simulated, measured and estimated results say alike: who and what, bands, utilisation,
/// energy, money and what is left out. Reads step.value, model_flops and hardware_flops of the
/// result; `DeviceTime`: of all devices in that step. Throws Error{Internal} when the hardware
/// would do more than its dense peak.
void state_common(Result&, const Workload&, const CostModel&, const DeviceTime&);

/// The single-setting changes worth trying on this plan, as arguments of --set ("key=value", or two
/// with a space between where one is not legal alone), in a fixed order: those that could free
/// memory when it does not fit, those that could save time when it does. None is the plan itself;
/// each may yet be illegal.
std::vector<std::string> candidate_changes(const Workload&, bool fits);

}  // namespace trainyard

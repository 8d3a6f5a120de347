#include <cmath>

#include "core/base/saturating.h"
#include "core/estimate/estimate.h"
#include "core/lowering/phases.h"
#include "core/methods/catalogue.h"
#include "core/plan/mesh.h"

namespace trainyard {
namespace {

class Pricer {
 public:
  Pricer(const Workload& w, const CostModel& cost) : w_(w), cost_(cost) {}

  Duration collective(const CollectiveRun& run) {
    const Scenario& s = w_.scenario;
    const GroupShape shape = group_shape(s.plan.mesh, run.group, s.cluster, w_.shard);
    return counted(cost_.collective(run.kind, run.bytes, shape, s.cluster).time, run.repeats);
  }

  // The largest message between stages; 0 where there is one stage.
  Duration transfer() {
    if (w_.scenario.plan.mesh.pp == 1) return {};
    const std::size_t level = pipeline_level(w_.scenario.plan.mesh, w_.scenario.cluster);
    Bytes most{};
    const auto stages = static_cast<std::uint32_t>(w_.table.size());
    for (std::uint32_t s = 0; s < stages; ++s) {
      const PhaseBytes bytes = phase_bytes(w_, StageId{s});
      if (s + 1 < stages) most = std::max(most, bytes.send_forward);
      if (s > 0) most = std::max(most, bytes.send_backward);
    }
    const Duration one = cost_.transfer(most, w_.scenario.cluster, level);
    counted(one, 2 * std::int64_t{stages});  // there and back
    return one;
  }

  Duration sum(const std::vector<CollectiveRun>& runs) {
    Duration total{};
    for (const CollectiveRun& run : runs) total += collective(run);
    return total;
  }

  Duration update(const std::vector<WorkCount>& works) {
    return counted(cost_.phase(works, true, w_.scenario.cluster), 1);
  }

  PhaseTime phase(const PhaseWork& work) {
    PhaseTime time;
    Duration kernels{};
    for (const WorkCount& one : work.works) {
      const Duration t =
          saturating_product(cost_.compute(one.work, w_.scenario.cluster.device), one.count);
      const Flops flops = one.work.flops * static_cast<double>(one.count);
      kernels = saturating_sum(kernels, t);
      time.filled += static_cast<double>(t.count()) * one.work.fill;
      time.flops += flops;
      if (one.recomputed)
        time.recompute += t;
      else
        time.model_flops += flops;
    }
    time.compute = counted(cost_.phase(work.works, false, w_.scenario.cluster), 1);
    // What the host or a straggler adds is spread over the kernels.
    if (kernels.count() > 0) {
      const double longer =
          static_cast<double>(time.compute.count()) / static_cast<double>(kernels.count());
      time.filled *= longer;
      if (longer != 1)
        time.recompute =
            Duration{std::llround(static_cast<double>(time.recompute.count()) * longer)};
    }
    for (const CollectiveRun& run : work.blocking) {
      Duration& whose = run.group == Group::Tensor    ? time.tensor
                        : run.group == Group::Context ? time.context
                        : run.group == Group::Expert  ? time.expert
                                                      : time.data;
      whose += collective(run);
    }
    time.lead = sum(work.lead);
    time.gather = sum(work.gather);
    time.beside = sum(work.beside);
    return time;
  }

 private:
  const Workload& w_;
  const CostModel& cost_;
  double whole_ = 0;  // ns of all that was priced so far, each done for every microbatch

  // So many of it. No sum of what was priced, times the microbatches, is beyond a Duration.
  Duration counted(Duration one, std::int64_t count) {
    whole_ += static_cast<double>(one.count()) * static_cast<double>(count) *
              microbatches(w_.scenario.plan);
    constexpr double kMost = 9e18;
    if (whole_ > kMost)
      throw Error(Error::Kind::InvalidInput,
                  "expected at most 285 years of work in one step, found more");
    return one * count;
  }
};

}  // namespace

std::vector<StageTime> stage_times(const Workload& w, const CostModel& cost) {
  Pricer pricer(w, cost);
  const Method& schedule = schedule_of(w.scenario.plan);
  const bool split = splits_backward(w);
  std::vector<StageTime> times;
  for (std::uint32_t s = 0; s < w.table.size(); ++s) {
    const StageId stage{s};
    StageTime t;
    t.forward = pricer.phase(phase_work(w, stage, Phase::Forward));
    t.backward = pricer.phase(phase_work(w, stage, Phase::Backward));
    t.fill = (t.forward.filled + t.backward.filled) /
             std::max(1.0, static_cast<double>((t.forward.compute + t.backward.compute).count()));
    if (split) {
      t.backward_input = pricer.phase(phase_work(w, stage, Phase::BackwardInput));
      t.backward_weight = pricer.phase(phase_work(w, stage, Phase::BackwardWeight));
    }
    const StepCollectives reduce = reduce_collectives(w, stage),
                          gather = gather_collectives(w, stage);
    t.reduce_others = pricer.sum(reduce.others), t.reduce_last = pricer.sum(reduce.last);
    t.gather_others = pricer.sum(gather.others), t.gather_last = pricer.sum(gather.last);
    t.reduce_overlapped = reduce.overlapped, t.gather_overlapped = gather.overlapped;
    t.update = pricer.update(update_work(w, stage));
    if (copies(w.placement) > 1)
      t.copies = pricer.collective({CollectiveKind::AllReduce, Group::Copies,
                                    stage_state(w, stage).total.gradients, 1, schedule.name});
    times.push_back(t);
  }
  return times;
}

Duration transfer_time(const Workload& w, const CostModel& cost) {
  return Pricer(w, cost).transfer();
}

PhaseTimes phase_times(const Workload& w, const CostModel& cost) {
  Pricer pricer(w, cost);
  PhaseTimes mean{Duration{0}, Duration{0}, Duration{0}, pricer.transfer()};
  for (std::uint32_t s = 0; s < w.table.size(); ++s) {
    mean.forward += pricer.phase(phase_work(w, StageId{s}, Phase::Forward)).total();
    mean.backward_input += pricer.phase(phase_work(w, StageId{s}, Phase::BackwardInput)).total();
    mean.backward_weight += pricer.phase(phase_work(w, StageId{s}, Phase::BackwardWeight)).total();
  }
  const auto stages = static_cast<std::int64_t>(w.table.size());
  mean.forward /= stages, mean.backward_input /= stages, mean.backward_weight /= stages;
  return mean;
}

}  // namespace trainyard

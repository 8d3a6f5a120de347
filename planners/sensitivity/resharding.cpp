#include "planners/sensitivity/resharding.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/lowering/phases.h"
#include "core/methods/settings/settings.h"

namespace trainyard {
namespace {

bool gathers_weights(const CollectiveRun& run) {
  return run.kind == CollectiveKind::AllGather &&
         (run.group == Group::Data || run.group == Group::Shard);
}

// The full bytes of all the stage's layers, as forward gathers them.
Bytes gathered_of(const StageWork& stage) {
  Bytes sum{};
  const PhaseWork& forward = stage.phases[static_cast<std::size_t>(Phase::Forward)];
  for (const auto* runs : {&forward.lead, &forward.gather})
    for (const CollectiveRun& run : *runs)
      if (gathers_weights(run)) sum += run.bytes * std::int64_t{run.repeats};
  return sum;
}

// The plan must reshard. Backward's gathers use a kind of group that no other traffic of the plan
// uses, because each kind has a single shape.
Workload resharded(Workload w, std::int64_t ranks) {
  const Mesh& mesh = w.scenario.plan.mesh;
  constexpr auto kSpare = static_cast<std::size_t>(Group::Copies);
  w.groups[kSpare] = group_shape(mesh, Group::Shard, w.scenario.cluster, ranks);
  for (StageWork& stage : w.kinds) {
    stage.state.total.gathered += share(gathered_of(stage), ranks);
    for (const Phase phase : {Phase::Backward, Phase::BackwardInput, Phase::BackwardWeight}) {
      PhaseWork& work = stage.phases[static_cast<std::size_t>(phase)];
      for (auto* runs : {&work.lead, &work.gather})
        for (CollectiveRun& run : *runs)
          if (gathers_weights(run)) run.group = Group::Copies;
    }
  }
  return w;
}

Bytes held_by(const Workload& w) {
  std::vector<Bytes> devices(static_cast<std::size_t>(w.scenario.plan.mesh.pp));
  for (std::uint32_t s = 0; s < w.table.size(); ++s)
    devices[s % devices.size()] += stage_state(w, StageId{s}).total.gathered;
  return *std::max_element(devices.begin(), devices.end());
}

}  // namespace

std::vector<Resharding> reshardings(const Scenario& scenario, const CostOf& cost) {
  Scenario always = scenario, never = scenario;
  always.plan.batch = never.plan.batch = complete(scenario).batch;
  apply_setting(always.plan, "reshard-after-forward", "on");
  apply_setting(never.plan, "reshard-after-forward", "off");
  const Workload plain = prepare(always), kept = prepare(never);
  const std::string stage = setting(plain.scenario.plan, "zero");
  if (stage != "3")
    throw Error(Error::Kind::InvalidInput,
                "expected zero=3, which gathers weights, found zero=" + stage,
                {"plan#/choices/zero/stage"});
  if (copies(plain.placement) > 1)
    throw Error(Error::Kind::InvalidInput,
                "expected a schedule that has each stage once, found one with two copies of each",
                {"plan#/choices"});
  const std::shared_ptr<const CostModel> prices = cost(scenario);
  std::vector<Resharding> found{{1, held_by(kept), figures_of(kept, *prices)}};
  const std::int64_t all = plain.layout.shard_group;
  for (std::int64_t ranks = 2; ranks < all; ++ranks) {
    if (all % ranks != 0) continue;
    const Workload w = resharded(plain, ranks);
    found.push_back({ranks, held_by(w), figures_of(w, *prices)});
  }
  if (all > 1) found.push_back({all, Bytes{}, figures_of(plain, *prices)});
  return found;
}

}  // namespace trainyard

#include "planners/sensitivity/wrapping.h"

#include <algorithm>
#include <numeric>

#include "core/base/error.h"
#include "core/lowering/phases.h"
#include "core/methods/settings/settings.h"

namespace trainyard {
namespace {

bool body_is_layer(const Workload& w, const Body& body) {
  return w.scenario.model.blocks[static_cast<std::size_t>(body.block)].layer;
}

const Body& body_of(const Workload& w, const Workload::Run& run) {
  return w.bodies[static_cast<std::size_t>(run.body)];
}

// Joins messages of one layer each into messages of several layers; messages of blocks that are not
// layers stay.
class Joiner {
 public:
  Joiner(const Workload& w, int layers) : layers_(layers) {
    for (const Body& body : w.bodies)
      if (body_is_layer(w, body))
        for (const auto* ops : {&body.forward, &body.backward, &body.reduce, &body.gather})
          for (const BodyOp& op : *ops)
            if (op.communication && moves_state(op.group) && !op.node.valid())
              of_layers_.push_back(op.bytes);
  }

  // `first` holds the messages that must arrive before the others: those of one unit.
  void join(std::vector<CollectiveRun>& first, std::vector<CollectiveRun>& others) const {
    for (CollectiveRun& lead : first) {
      if (!joins(lead)) continue;
      for (CollectiveRun& rest : others)
        if (same(lead, rest)) rest.repeats -= (layers_ - 1) * lead.repeats;
      lead.bytes = lead.bytes * std::int64_t{layers_};
    }
    for (CollectiveRun& rest : others)
      if (joins(rest)) {
        rest.repeats /= layers_;
        rest.bytes = rest.bytes * std::int64_t{layers_};
      }
    std::erase_if(others, [](const CollectiveRun& run) { return run.repeats == 0; });
  }

 private:
  static bool moves_state(Group group) {
    return group == Group::Data || group == Group::ExpertData || group == Group::Shard ||
           group == Group::Replica;
  }
  static bool same(const CollectiveRun& a, const CollectiveRun& b) {
    return a.kind == b.kind && a.group == b.group && a.bytes == b.bytes;
  }
  bool joins(const CollectiveRun& run) const {
    return moves_state(run.group) &&
           std::find(of_layers_.begin(), of_layers_.end(), run.bytes) != of_layers_.end();
  }

  int layers_;
  std::vector<Bytes> of_layers_;
};

std::int64_t gathers(const PhaseWork& work) {
  std::int64_t count = 0;
  for (const auto* runs : {&work.lead, &work.gather})
    for (const CollectiveRun& run : *runs) count += run.repeats;
  return count;
}

int common_layers(const Workload& w) {
  int common = 0;
  for (const std::vector<Workload::Run>& stage : w.runs)
    for (const Workload::Run& run : stage)
      if (body_is_layer(w, body_of(w, run))) common = std::gcd(common, run.count);
  return common;
}

Wrapping measured(const Workload& w, int layers, const CostModel& cost) {
  Wrapping found;
  found.layers = layers;
  std::vector<std::int64_t> each(static_cast<std::size_t>(w.scenario.plan.mesh.pp));
  for (std::uint32_t s = 0; s < w.table.size(); ++s) {
    const StageWork& stage = stage_work(w, StageId{s});
    for (const Workload::Run& run : w.runs[s]) {
      const Body& body = body_of(w, run);
      found.unit = std::max(
          found.unit, (body.gathered + body.resident) * (body_is_layer(w, body) ? layers : 1));
    }
    found.unsharded =
        std::max(found.unsharded, stage.state.total.gathered +
                                      std::max({stage.bytes.backward_communication,
                                                stage.bytes.gathered, stage.bytes.unreduced}));
    each[s % each.size()] += gathers(stage.phases[0]) + gathers(stage.phases[1]);
  }
  found.gathers = *std::max_element(each.begin(), each.end()) * microbatches(w.scenario.plan);
  found.figures = figures_of(w, cost);
  return found;
}

}  // namespace

Workload wrapped(Workload w, int layers) {
  if (layers == 1) return w;
  // The unsharded bytes follow from the sequence of a stage's units as they otherwise do from its
  // layers.
  Workload units = w;
  for (Body& body : units.bodies)
    if (body_is_layer(w, body))
      body.gathered = body.gathered * std::int64_t{layers},
      body.unreduced = body.unreduced * std::int64_t{layers};
  for (std::vector<Workload::Run>& stage : units.runs)
    for (Workload::Run& run : stage)
      if (body_is_layer(w, body_of(w, run))) run.count /= layers;
  sum_stages(units);
  const Joiner joiner(w, layers);
  for (std::size_t kind = 0; kind < w.kinds.size(); ++kind) {
    StageWork& stage = w.kinds[kind];
    for (PhaseWork& phase : stage.phases) joiner.join(phase.lead, phase.gather);
    joiner.join(stage.reduce.last, stage.reduce.others);
    joiner.join(stage.gather.last, stage.gather.others);
    const PhaseBytes& held = units.kinds[kind].bytes;
    stage.bytes.gathered = held.gathered;
    stage.bytes.unreduced = held.unreduced;
    stage.bytes.backward_communication = held.backward_communication;
  }
  return w;
}

std::vector<Wrapping> wrappings(const Scenario& scenario, const CostOf& cost) {
  const Workload plain = prepare(scenario);
  const std::string stage = setting(plain.scenario.plan, "zero");
  if (stage != "3")
    throw Error(Error::Kind::InvalidInput,
                "expected zero=3, which gathers weights by unit, found zero=" + stage,
                {"plan#/choices/zero/stage"});
  const std::shared_ptr<const CostModel> prices = cost(scenario);
  const int common = common_layers(plain);
  std::vector<Wrapping> found;
  for (int layers = 1; layers <= common; ++layers)
    if (common % layers == 0) found.push_back(measured(wrapped(plain, layers), layers, *prices));
  if (common == 0) found.push_back(measured(plain, 1, *prices));
  return found;
}

}  // namespace trainyard

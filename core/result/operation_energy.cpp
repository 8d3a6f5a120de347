#include "core/result/operation_energy.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "core/cluster/mixed.h"
#include "core/cost/cost_model.h"
#include "core/lowering/lower.h"
#include "core/plan/stage_kinds.h"
#include "core/result/step_calls.h"

namespace trainyard {
namespace {

// Equal works are priced once, however many layers have them. What crosses into the device's
// memory, the outermost level, crosses in the bytes that it stores.
class Priced {
 public:
  explicit Priced(const Device& device)
      : levels_(operation_hierarchy(device)), stored_(device.compression.value) {}
  const WorkEnergy& of(const Work& work) {
    for (const auto& [known, energy] : known_)
      if (known == work) return energy;
    WorkEnergy energy = work_energy(work, levels_);
    LevelEnergy& memory = energy.levels.back();
    memory.energy = memory.energy * stored_;
    return known_.emplace_back(work, std::move(energy)).second;
  }

 private:
  Hierarchy levels_;
  double stored_;  // bytes over those of the tensors
  std::vector<std::pair<Work, WorkEnergy>> known_;
};

std::string name_of(const BodyOp& op) {
  return op.work.kind == WorkKind::Optimizer ? "optimizer" : op.name;
}

std::int64_t pipeline_ranks(const Workload& workload) {
  std::set<std::uint32_t> ranks;
  for (const Stage& stage : workload.table) ranks.insert(stage.device.value);
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(ranks.size()));
}

}  // namespace

Hierarchy operation_hierarchy(const Device& device) {
  return device.on_chip_memory ? Hierarchy(kOnChip) : Hierarchy(kTiledForRegisters);
}

std::vector<OperationEnergy> operation_energies(const Workload& workload) {
  std::vector<OperationEnergy> found;
  std::map<std::string, std::size_t> places;
  const Cluster& cluster = workload.scenario.cluster;
  std::vector<Priced> priced;
  for (std::size_t kind = 0; kind < kinds(cluster); ++kind)
    priced.emplace_back(device_of_kind(cluster, kind));
  const std::int64_t replicas = cluster.count / pipeline_ranks(workload);
  for (std::size_t stage = 0; stage < workload.runs.size(); ++stage) {
    Priced& own =
        priced[kind_of_rank(cluster, workload.scenario.plan.mesh, workload.table[stage].device)];
    visit_calls(workload, stage, [&](const BodyOp& op, std::int64_t calls) {
      if (op.communication || nothing(op.work)) return;
      const auto [place, fresh] = places.try_emplace(name_of(op), found.size());
      if (fresh) found.push_back({place->first, 0, {}});
      OperationEnergy& sum = found[place->second];
      sum.calls += calls * replicas;
      sum.energy += own.of(op.work) * static_cast<double>(calls * replicas);
    });
  }
  std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) {
    return a.energy.total() > b.energy.total();
  });
  return found;
}

WorkEnergy total(std::span<const OperationEnergy> operations) {
  WorkEnergy sum;
  for (const OperationEnergy& one : operations) sum += one.energy;
  return sum;
}

}  // namespace trainyard

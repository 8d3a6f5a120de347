#include "core/result/owners.h"

#include <algorithm>
#include <map>
#include <set>

#include "core/lowering/phases.h"
#include "core/result/peak_parts.h"

namespace trainyard {
namespace {

using OwnerKey = std::pair<std::string, std::string>;

const Body& body_of(const Workload& w, const Workload::Run& run) {
  return w.bodies[static_cast<std::size_t>(run.body)];
}
const Block& block_of(const Workload& w, const Body& body) {
  return w.scenario.model.blocks[static_cast<std::size_t>(body.block)];
}

// Adds what the stage's layers contribute to a buffer of its activations.
void add_stage(std::map<OwnerKey, ModuleOwner>& sums, const Workload& w, StageId stage,
               bool for_weight, int instances) {
  for (const Workload::Run& run : w.runs[stage.value]) {
    const Body& body = body_of(w, run);
    const Block& block = block_of(w, body);
    std::set<std::string> counted;
    for (const SavedTensor& s : body.saved) {
      if (s.recomputed || s.for_weight != for_weight || s.bytes.value == 0) continue;
      const Node* maker = s.producer.valid() ? &block.graph[s.producer] : nullptr;
      const std::string module = maker == nullptr ? "input" : maker->name;
      ModuleOwner& owner = sums[{block.name, module}];
      owner.block = block.name, owner.module = module;
      if (maker != nullptr) owner.kind = maker->op->name;
      owner.bytes += s.bytes * run.count * std::int64_t{instances};
      owner.microbatches = std::max(owner.microbatches, instances);
      if (counted.insert(module).second) owner.layers += run.count;
    }
  }
}

// Adds the units of a stage of the device: their bytes and their number.
void add_units(std::vector<UnshardedUnit>& units, const Workload& w, StageId stage) {
  for (const Workload::Run& run : w.runs[stage.value]) {
    const Body& body = body_of(w, run);
    const Bytes weights = body.gathered + body.resident;
    if (weights.value == 0 && body.unreduced.value == 0) continue;
    const std::string& name = block_of(w, body).name;
    const auto same = std::find_if(units.begin(), units.end(), [&](const UnshardedUnit& u) {
      return u.block == name && u.weights == weights && u.gradients == body.unreduced;
    });
    if (same != units.end())
      same->layers += run.count;
    else
      units.push_back({name, run.count, weights, body.unreduced, body.resident.value > 0});
  }
}

template <class List, class Size>
void largest_first(List& list, Size size) {
  std::stable_sort(list.begin(), list.end(),
                   [&](const auto& a, const auto& b) { return size(a) > size(b); });
}

std::size_t fullest_wave(const Experiment& e) {
  std::size_t found = 0;
  const auto peak = [&](std::size_t d) { return peak_of(e.waves[d]); };
  for (std::size_t d = 1; d < e.waves.size(); ++d)
    if (peak(d) > peak(found)) found = d;
  return found;
}

Bytes most_communication(const MemoryWave& wave) {
  Bytes most{};
  for (const MemoryWave::Sample& s : wave.samples)
    most = std::max(most, s.bytes[static_cast<std::size_t>(Category::Communication)]);
  return most;
}

}  // namespace

Owners owners(const Experiment& e) {
  Owners found;
  if (e.waves.empty() || e.waves.front().samples.empty()) return found;
  const MemoryWave& wave = e.waves[fullest_wave(e)];
  const MemoryWave::Sample& highest = wave.samples[wave.peak];
  found.device = DeviceId{static_cast<std::uint32_t>(&wave - e.waves.data())};
  found.at = highest.at;
  found.phase = doing_at(e.program, e.timeline, found.device, highest.at).phase;
  found.categories = highest.bytes;

  std::map<OwnerKey, ModuleOwner> sums;
  std::map<std::string, Bytes> others;
  std::set<std::uint32_t> stages;
  for (const Buffer& buffer : e.program.buffers)
    if (buffer.device == found.device) stages.insert(buffer.stage.value);
  for (const Alive& alive : alive_at(e.timeline, e.program, found.device, highest.at)) {
    const Buffer& buffer = e.program.buffers[alive.buffer.value];
    if (buffer.category != Category::Activations) continue;
    const std::string name(e.program.name(buffer.name));
    if (buffer.parts == 0) {
      others[name] += alive.bytes;
      continue;
    }
    const bool for_weight = name != "activations";
    add_stage(sums, e.workload, buffer.stage, for_weight, alive.instances);
    if (!for_weight)
      others[std::string(kStageTensors)] +=
          phase_bytes(e.workload, buffer.stage).stage_tensors * std::int64_t{alive.instances};
  }
  for (auto& [key, owner] : sums) found.modules.push_back(std::move(owner));
  for (auto& [name, bytes] : others)
    if (bytes.value > 0) found.others.emplace_back(name, bytes);
  largest_first(found.others, [](const auto& o) { return o.second; });
  largest_first(found.modules, [](const ModuleOwner& m) { return m.bytes; });

  for (const std::uint32_t stage : stages)
    if (stage < e.workload.runs.size()) add_units(found.units, e.workload, StageId{stage});
  largest_first(found.units, [](const UnshardedUnit& u) { return u.weights + u.gradients; });
  if (!found.units.empty()) {
    found.unsharded_now = highest.bytes[static_cast<std::size_t>(Category::Communication)];
    found.unsharded_most = most_communication(wave);
  }
  const Mesh& mesh = e.workload.scenario.plan.mesh;
  const Layout& layout = e.workload.layout;
  found.replicas = std::int64_t{mesh.dp.value_or(1)} * mesh.cp;
  if (found.replicas > 1) {
    const auto add = [&](std::int64_t shards, const char* name, Category category) {
      if (shards == 1)
        found.replicated.emplace_back(name, highest.bytes[static_cast<std::size_t>(category)]);
    };
    add(layout.weight_shards, "weights", Category::Weights);
    add(layout.gradient_shards, "gradients", Category::Gradients);
    add(layout.optimizer_shards, "optimizer state", Category::OptimizerState);
  }
  return found;
}

}  // namespace trainyard

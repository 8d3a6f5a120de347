#include "core/memory/process_bytes.h"

#include <algorithm>
#include <cmath>

#include "core/lowering/stage_copies.h"
#include "core/methods/parallel/adasum.h"
#include "core/methods/parallel/compression.h"
#include "core/methods/parallel/relaxed_synchrony.h"
#include "core/model/ops.h"
#include "core/plan/stage_kinds.h"

namespace trainyard {
namespace {

const Graph& graph_of(const Workload& w, const Body& body) {
  return w.scenario.model.blocks[static_cast<std::size_t>(body.block)].graph;
}

// The layers' own memory already has the logits in the format of activations and, where it is kept,
// their softmax.
Bytes further_logits(const Workload& w, const Body& body, double logit_bytes) {
  double most = 0;
  for (const Node& node : graph_of(w, body).nodes) {
    if (node.op != &softmax_loss()) continue;
    const Tensor& logits = graph_of(w, body)[node.inputs[0]];
    const auto count = static_cast<double>(local_elements(logits.shape, body.binding));
    const double held = bytes_of(w.layout.precision.activation) + 4;
    most = std::max(most, count * std::max(0.0, logit_bytes - held));
  }
  return Bytes{std::llround(most)};
}

Bytes further_blocks(const Workload& w, const Body& body, double blocks) {
  if (!body.binding.sequence_parallel || recomputed_bytes(body).value == 0) return {};
  const Graph& graph = graph_of(w, body);
  Binding whole = body.binding;
  whole.sequence_parallel = false;
  const Bytes block = local_bytes(graph[graph.output], whole, w.layout.precision);
  const double wanted = blocks * static_cast<double>(block.value);
  return std::max(Bytes{}, Bytes{std::llround(wanted)} - body.held.blocks);
}

const Device& device_of_rank(const Workload& w, int rank) {
  const Cluster& cluster = w.scenario.cluster;
  return device_of_kind(cluster, kind_of_rank(cluster, w.scenario.plan.mesh,
                                              DeviceId{static_cast<std::uint32_t>(rank)}));
}

// Returns by device the flat buffers in which gradients are reduced and weights gathered.
std::vector<Bytes> all_buckets(const Workload& w) {
  std::vector<Bytes> sum(static_cast<std::size_t>(w.scenario.plan.mesh.pp));
  for (const StageCopy& place : StageCopies(w)) {
    std::int64_t parameters = 0, largest = 0;
    for (const Workload::Run& run : w.runs[place.stage.value]) {
      const LocalParameters& p = w.bodies[static_cast<std::size_t>(run.body)].parameters;
      parameters += (p.dense + p.expert) * run.count;
      largest = std::max(largest, p.dense + p.expert);
    }
    Bytes& bucket = sum[place.device.value];
    bucket = std::max(bucket, bucket_bytes(w, parameters, largest));
  }
  return sum;
}

}  // namespace

Bytes further_bytes(const Workload& w, const Body& body, const ProcessMemory& process) {
  return std::max(further_logits(w, body, process.logit_bytes),
                  further_blocks(w, body, process.gathered_blocks));
}

Bytes bucket_bytes(const Workload& w, std::int64_t parameters, std::int64_t largest_layer) {
  const Plan& plan = w.scenario.plan;
  const Bytes arrives = combining_bytes(plan, largest_layer) +
                        arriving_bytes(plan, w.scenario.cluster, largest_layer) +
                        averaging_bytes(plan, w.layout, largest_layer);
  const std::int64_t most = w.layout.framework.bucket_parameters;
  const Mesh& mesh = w.scenario.plan.mesh;
  if (most == 0 || (ranks(mesh, Group::Data) == 1 && ranks(mesh, Group::ExpertData) == 1))
    return arrives;
  return arrives + gradient_bytes(std::min(most, 2 * parameters), w.layout);
}

std::vector<Bytes> process_bytes(const Workload& w, const ProcessMemory& process) {
  std::vector<Bytes> further(static_cast<std::size_t>(w.scenario.plan.mesh.pp));
  for (const StageCopy& place : StageCopies(w)) {
    Bytes& most = further[place.device.value];
    for (const Workload::Run& run : w.runs[place.stage.value]) {
      const Body& body = w.bodies[static_cast<std::size_t>(run.body)];
      most = std::max(most, further_bytes(w, body, process));
    }
  }
  const std::vector<Bytes> buckets = all_buckets(w);
  for (std::size_t d = 0; d < further.size(); ++d) further[d] += process.context + buckets[d];
  return further;
}

std::vector<Bytes> capacities(const Workload& w) {
  std::vector<Bytes> found;
  for (int d = 0; d < w.scenario.plan.mesh.pp; ++d)
    found.push_back(device_of_rank(w, d).memory.value);
  return found;
}

std::size_t least_room(const Workload& w, const std::vector<Bytes>& reserved) {
  const std::vector<Bytes> capacity = capacities(w);
  std::size_t worst = 0;
  for (std::size_t d = 1; d < reserved.size(); ++d)
    if (capacity[d] - reserved[d] < capacity[worst] - reserved[worst]) worst = d;
  return worst;
}

std::vector<ProcessMemory> processes(const Workload& w, const CostModel& cost) {
  std::vector<ProcessMemory> found;
  const auto devices = static_cast<std::size_t>(w.scenario.plan.mesh.pp);
  if (!is_mixed(w.scenario.cluster)) {
    found.assign(devices, cost.process_memory(w.scenario.cluster.device));
    return found;
  }
  for (std::size_t d = 0; d < devices; ++d)
    found.push_back(cost.process_memory(device_of_rank(w, static_cast<int>(d))));
  return found;
}

std::vector<Bytes> bytes_of_processes(const Workload& w,
                                      const std::vector<ProcessMemory>& processes) {
  if (!is_mixed(w.scenario.cluster)) return process_bytes(w, processes.front());
  std::vector<Bytes> found;
  for (std::size_t d = 0; d < processes.size(); ++d)
    found.push_back(process_bytes(w, processes[d])[d]);
  return found;
}

double memory_slowdown(Bytes most_reserved, Bytes capacity, const ProcessMemory& process) {
  if (capacity.value <= 0) return 1;
  return process.slowdown(std::min(1.0, most_reserved / capacity));
}

Bytes reserved_bytes(const CategoryBytes& peak, const ProcessMemory& process) {
  Bytes lasting{};
  for (const Category c :
       {Category::Framework, Category::Weights, Category::OptimizerState, Category::Gradients})
    lasting += peak[static_cast<std::size_t>(c)];
  const auto passing = static_cast<double>((total(peak) - lasting).value);
  return lasting + Bytes{std::llround(passing * std::max(1.0, process.fragmentation))};
}

}  // namespace trainyard

// Implements norms over rows of which each tensor rank has a part, and batch norms over samples of
// which each replica has some: every rank finds the means of its part when their all-reduce begins,
// and the norm after it goes on by the means of the whole.
#include "backends/cpu/execution/cpu_execution.h"
#include "backends/cpu/kernels/ops/norms.h"
#include "core/methods/layers/tensor_region.h"
#include "core/model/divided_rows.h"

namespace trainyard {

bool CpuExecution::averages_means(const At& a) const {
  return a.task.kind == TaskKind::Collective && a.task.node.valid() &&
         trainyard::averages_means(node_of(a), a.task.group);
}

void CpuExecution::find_means(const At& a, Scratch& scratch) {
  Flight& f = a.device.flight(a.place, a.microbatch);
  run(a, plan_.layer_of(a.task.layer), f, run_beside(a), scratch);
}

void CpuExecution::run_with_means(const At& a, const KernelCall& call, Pass pass) const {
  if (a.task.kind == TaskKind::Compute) {
    if (!call.norm_means->given)
      refuse("ranks have parts of what " + call.node.name +
             " normalises, and have not averaged what they found of them");
    run_kernel(call, pass);
    call.norm_means->given = false;
    return;
  }
  KernelCall finding = call;
  finding.outputs = finding.input_gradients = finding.weight_gradients = {};
  run_kernel(finding, pass);
}

TravelPtr CpuExecution::average_means(const At& a, std::span<const int> members) {
  const std::size_t l = plan_.layer_of(a.task.layer), ranks = members.size();
  // Context ranks that have joined their rows before the norm have found the same of each sample.
  const PlacedLayer& layer = plan_.places[a.place].layers[l];
  const LayerLayout& layout = plan_.layouts[static_cast<std::size_t>(layer.layout)];
  const bool alike = node_of(a).op == &batch_norm() &&
                     !has_part_of_rows((*layout.graph)[node_of(a).inputs[0]], layout.body->binding);
  const std::size_t parts_of_whole =
      alike ? ranks / static_cast<std::size_t>(plan_.peers.cp) : ranks;
  const bool distances = node_of(a).op != &rms_norm() && run_beside(a).pass == Pass::Forward;
  const Company company = company_of(a, members);
  std::vector<NormMeans*> own(ranks, nullptr);
  std::vector<const std::byte*> from(ranks, nullptr);
  std::size_t size = 0;
  for (std::size_t r = 0; r < ranks; ++r) {
    if (!company.here(r)) continue;
    Flight& f = state(a.device.device(), members[r]).flight(a.place, a.microbatch);
    own[r] = &f.layers[l].norm_means.at(a.task.node.value);
    from[r] = reinterpret_cast<const std::byte*>(own[r]->values.data());
    size = own[r]->values.size();
  }
  return spread(company, std::move(from), std::vector<std::size_t>(ranks, size * sizeof(float)),
                [=](std::span<const std::byte* const> parts) -> TravelPtr {
                  std::vector<const float*> by_rank;
                  for (const std::byte* part : parts)
                    by_rank.push_back(reinterpret_cast<const float*>(part));
                  std::vector<float> average(size);
                  average_norm_means(by_rank, average, distances);
                  for (NormMeans* const means : own) {
                    if (means == nullptr) continue;
                    means->values = average;
                    means->given = true;
                    means->parts = static_cast<std::int64_t>(parts_of_whole);
                  }
                  return nullptr;
                });
}

}  // namespace trainyard

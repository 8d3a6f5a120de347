// Implements norms over rows of which each tensor rank has a part: every rank finds the means of
// its part when their all-reduce begins, and the norm after it goes on by the means of the whole
// row.
#include "backends/cpu/execution/cpu_execution.h"
#include "backends/cpu/kernels/ops/norms.h"
#include "core/methods/layers/tensor_region.h"

namespace trainyard {

bool CpuExecution::averages_rows(const At& a) const {
  return a.task.kind == TaskKind::Collective && a.task.group == Group::Tensor &&
         a.task.node.valid() && is_row_norm(node_of(a));
}

void CpuExecution::find_row_means(const At& a, Scratch& scratch) {
  Flight& f = a.device.flight(a.place, a.microbatch);
  run(a, plan_.layer_of(a.task.layer), f, run_beside(a), scratch);
}

void CpuExecution::run_with_row_means(const At& a, const KernelCall& call, Pass pass) const {
  if (a.task.kind == TaskKind::Compute) {
    if (!call.row_means->given)
      refuse("ranks have a part of each row of " + call.node.name +
             ", and have not averaged what they found of it");
    run_kernel(call, pass);
    call.row_means->given = false;
    return;
  }
  KernelCall finding = call;
  finding.outputs = finding.input_gradients = finding.weight_gradients = {};
  run_kernel(finding, pass);
}

TravelPtr CpuExecution::average_rows(const At& a, std::span<const int> members) {
  const std::size_t l = plan_.layer_of(a.task.layer), ranks = members.size();
  const bool distances = node_of(a).op == &layer_norm() && run_beside(a).pass == Pass::Forward;
  const Company company = company_of(a, members);
  std::vector<RowMeans*> own(ranks, nullptr);
  std::vector<const std::byte*> from(ranks, nullptr);
  std::size_t size = 0;
  for (std::size_t r = 0; r < ranks; ++r) {
    if (!company.here(r)) continue;
    Flight& f = state(a.device.device(), members[r]).flight(a.place, a.microbatch);
    own[r] = &f.layers[l].row_means.at(a.task.node.value);
    from[r] = reinterpret_cast<const std::byte*>(own[r]->values.data());
    size = own[r]->values.size();
  }
  return spread(company, std::move(from), std::vector<std::size_t>(ranks, size * sizeof(float)),
                [=](std::span<const std::byte* const> parts) -> TravelPtr {
                  std::vector<const float*> by_rank;
                  for (const std::byte* part : parts)
                    by_rank.push_back(reinterpret_cast<const float*>(part));
                  std::vector<float> average(size);
                  average_row_means(by_rank, average, distances);
                  for (RowMeans* const means : own) {
                    if (means == nullptr) continue;
                    means->values = average;
                    means->given = true;
                  }
                  return nullptr;
                });
}

}  // namespace trainyard

// In data parallel every replica computes the gradients of its own samples, and one all-reduce per
// step sums them over all replicas. The replicas of an expert are the ranks that hold the same
// experts.
//
// Li et al., "PyTorch Distributed: Experiences on Accelerating Data Parallel Training", VLDB 2020.
#include "core/methods/catalogue.h"
#include "core/methods/parallel/communication.h"

namespace trainyard {
namespace {

constexpr std::string_view kDataParallelName = "data-parallel";

void rewrite_data_parallel(Body& body, const Layout& layout, const Scenario& scenario,
                           const Params&) {
  const Mesh& mesh = scenario.plan.mesh;
  const auto reduce = [&](std::int64_t parameters, Group group, const char* name) {
    if (parameters > 0 && ranks(mesh, group) > 1)
      body.reduce.push_back(collective_op(kDataParallelName, name, NodeId{}, Pass::BackwardWeight,
                                          CollectiveKind::AllReduce, group,
                                          gradient_bytes(parameters, layout)));
  };
  // Each tensor rank has the gradients of its own tokens.
  if (layout.tensor_heads)
    reduce(body.parameters.dense, Group::Tensor, "reduce gradients of tokens");
  reduce(body.parameters.dense, Group::Data, "reduce gradients");
  reduce(body.parameters.expert, Group::ExpertData, "reduce expert gradients");
}

}  // namespace

Method data_parallel_method() {
  return {
      .name = kDataParallelName,
      .axis = MethodAxis::Reduction,
      .summary = "Replicas compute gradients of their own samples and sum them once a step.",
      .paper = {"PyTorch Distributed: Experiences on Accelerating Data Parallel Training",
                "Li et al.", "VLDB", 2020},
      .card = {.gains = "throughput grows with the replicas",
               .costs = "every replica holds the whole training state; 2 x gradient bytes per step "
                        "on the wire",
               .legal_when = "dp x micro-batch divides the global batch"},
      .file = "core/methods/parallel/data_parallel.cpp",
      .rewrite = rewrite_data_parallel,
  };
}

}  // namespace trainyard

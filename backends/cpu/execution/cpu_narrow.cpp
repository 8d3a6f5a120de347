// Implements products whose operands are cast to 8 or 4 bits.
#include "backends/cpu/execution/cpu_execution.h"
#include "backends/cpu/kernels/narrow_product.h"
#include "core/methods/catalogue.h"
#include "core/methods/precision/narrow_products.h"

namespace trainyard {
namespace {

const NarrowScaling* narrow_scaling(const Workload& w) {
  const Choice* const chosen = chosen_on(w.scenario.plan, MethodAxis::Precision);
  switch (w.layout.precision.math) {
    case DType::F8:
      return &kFp8Tensor;
    case DType::F8Row:
      return &kFp8Row;
    case DType::F8Block:
      return chosen != nullptr && chosen->method == "mxfp8" ? &kMxfp8 : &kFp8Block;
    case DType::F4:
      return &kNvfp4;
    default:
      return nullptr;
  }
}

}  // namespace

void CpuExecution::find_narrow() {
  narrow_ = narrow_scaling(plan_.workload);
  if (narrow_ == nullptr) return;
  std::size_t operands = 0;
  int layer = 0;
  for (const Block& block : plan_.workload.scenario.model.blocks)
    for (int i = 0; i < block.count; ++i, ++layer) {
      first_scale_.push_back(operands);
      if (narrow_->whole_tensor) operands += 2 * block.graph.tensors.size();
    }
  scales_ = std::make_unique<OperandScales>(operands);
}

bool CpuExecution::is_narrow(const LayerLayout& layout, const Node& node) const {
  const std::vector<Block>& blocks = plan_.workload.scenario.model.blocks;
  return narrow_ != nullptr && blocks[static_cast<std::size_t>(layout.body->block)].layer &&
         multiplies_narrow(node);
}

void CpuExecution::run_narrow(const At& a, std::size_t l, Flight& f, const KernelRun& run,
                              const KernelCall& call) {
  const PlacedLayer& placed = plan_.places[a.place].layers[l];
  NarrowOperands how{*narrow_};
  const Operand& x = run.inputs[0];
  const auto index = static_cast<std::size_t>(x.index);
  const LayerLayout& layout = plan_.layouts[static_cast<std::size_t>(placed.layout)];
  if (x.where == Operand::Where::Saved && layout.kept_narrow[index]) {
    how.codes = reinterpret_cast<std::uint8_t*>(f.layers[l].saved[index].data);
    how.scales = &f.layers[l].narrow[index].scales;
  }
  // The weights of two products are never one tensor, but inputs and gradients may be.
  const std::array<std::size_t, 3> scale = {2 * std::size_t{call.node.inputs[0].value},
                                            2 * std::size_t{call.node.inputs[1].value},
                                            2 * std::size_t{call.node.outputs[0].value} + 1};
  const std::size_t first = first_scale_[static_cast<std::size_t>(placed.model_layer)];
  if (narrow_->whole_tensor)
    for (std::size_t i = 0; i < scale.size(); ++i) how.known[i] = scales_->known(first + scale[i]);
  trainyard::run_narrow(call, run.pass, how);
  if (narrow_->whole_tensor)
    for (std::size_t i = 0; i < scale.size(); ++i) scales_->see(first + scale[i], how.seen[i]);
}

}  // namespace trainyard

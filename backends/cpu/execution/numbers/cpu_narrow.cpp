// Implements products whose operands are cast to a narrow format.
#include <algorithm>
#include <numeric>

#include "backends/cpu/execution/cpu_execution.h"
#include "backends/cpu/kernels/flex_product.h"
#include "backends/cpu/kernels/narrow_product.h"
#include "backends/cpu/kernels/operands.h"
#include "core/methods/catalogue.h"
#include "core/methods/precision/narrow_products.h"
#include "core/model/never_negative.h"
#include "core/model/trained_parts.h"

namespace trainyard {

std::unique_ptr<const NarrowScaling> narrow_scaling(const Workload& w) {
  const Choice* const chosen = chosen_on(w.scenario.plan, MethodAxis::Precision);
  const auto found = [](const NarrowScaling& how) {
    return std::make_unique<const NarrowScaling>(how);
  };
  if (const auto vectors = vector_format(w.scenario.plan)) {
    NarrowScaling how;
    how.block = vectors->vector;
    how.vectors = {vectors->weights, vectors->activations, vectors->scale_bits};
    return found(how);
  }
  switch (w.layout.precision.math) {
    case DType::F8:
      return found(kFp8Tensor);
    case DType::F8Row:
      return found(kFp8Row);
    case DType::F8Block:
      return found(chosen != nullptr && chosen->method == "mxfp8" ? kMxfp8 : kFp8Block);
    case DType::F4:
      return found(kNvfp4);
    case DType::Flex16:
      return found(kFlex16);
    default:
      return nullptr;
  }
}

namespace {

// Returns the saved tensor that holds the codes of an input which the ranks of sequence parallel
// gather, or -1.
std::int32_t kept_of_gathered(const LayerLayout& layout, const Operand& x) {
  const std::vector<SavedTensor>& saved = layout.body->saved;
  if (!x.whole) return -1;
  const auto found = std::find_if(saved.begin(), saved.end(), [&](const SavedTensor& s) {
    return s.narrow && s.tensor == x.tensor;
  });
  return found == saved.end() ? -1 : static_cast<std::int32_t>(found - saved.begin());
}

// Returns the saved tensor that holds the codes of the run's input, or -1. Under sequence parallel
// forward reads a gathered input, of which the rank keeps its own rows; they are gathered again for
// the weight gradient, which casts what came, or reads it where its casts are those of forward.
std::int32_t kept_for(const LayerLayout& layout, const KernelRun& run) {
  const Operand& x = run.inputs[0];
  if (x.where == Operand::Where::Saved)
    return layout.body->saved[static_cast<std::size_t>(x.index)].narrow ? x.index : -1;
  return run.pass == Pass::Forward ? kept_of_gathered(layout, x) : -1;
}

// A tensor rank's own rows among those that the ranks gather: as many as the others', or of copies
// that came to experts those that came to this rank.
struct OwnRows {
  std::int64_t first = 0, count = 0;
};

OwnRows own_rows(const LayerLayout& layout, const LayerSizes& sizes, const Routing& routing,
                 TensorId tensor, int rank) {
  if (!layout.gathers_copies(tensor) || routing.gathered.empty()) {
    const std::int64_t each = rows(sizes.local[tensor.value]);
    return {rank * each, each};
  }
  const auto own = routing.gathered.begin() + rank;
  return {std::accumulate(routing.gathered.begin(), own, std::int64_t{0}), *own};
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
  scales_ = std::make_unique<OperandScales>(operands, multiplies_integers(*narrow_)
                                                          ? OperandScales::Rule::Autoflex
                                                          : OperandScales::Rule::Largest);
}

bool CpuExecution::is_narrow(const LayerLayout& layout, const Node& node) const {
  return narrow_ != nullptr && layout.narrow &&
         multiplies_narrow(node, plan_.workload.layout.precision.math);
}

std::size_t CpuExecution::operand_of(const PlacedLayer& layer, TensorId tensor) const {
  return first_scale_[static_cast<std::size_t>(layer.model_layer)] + 2 * std::size_t{tensor.value};
}

void CpuExecution::run_narrow(const At& a, std::size_t l, Flight& f, const KernelRun& run,
                              const KernelCall& call) {
  const PlacedLayer& placed = plan_.places[a.place].layers[l];
  NarrowOperands how{*narrow_};
  const Operand& x = run.inputs[0];
  const LayerLayout& layout = plan_.layouts[static_cast<std::size_t>(placed.layout)];
  how.no_negative_input =
      never_negative(plan_.workload.scenario.model, placed.model_layer, call.node.inputs[0]);
  how.rounded_input = run.pass == Pass::BackwardWeight && x.where != Operand::Where::Saved &&
                      kept_of_gathered(layout, x) >= 0;
  if (const std::int32_t item = kept_for(layout, run); item >= 0) {
    const auto index = static_cast<std::size_t>(item);
    how.codes = reinterpret_cast<std::uint8_t*>(f.layers[l].saved[index].data);
    how.scales = &f.layers[l].narrow[index].scales;
    if (x.where != Operand::Where::Saved) {
      const OwnRows own = own_rows(layout, a.device.sizes(a.place, l, f), *call.routing, x.tensor,
                                   plan_.peers.tensor_rank(a.peer));
      how.first_kept_row = own.first, how.kept_rows = own.count;
    }
  }
  // The weights of two products are never one tensor, but inputs and gradients may be.
  const std::array<std::size_t, 3> operand = {operand_of(placed, call.node.inputs[0]),
                                              operand_of(placed, call.node.inputs[1]),
                                              operand_of(placed, call.node.outputs[0]) + 1};
  if (narrow_->whole_tensor)
    for (std::size_t i = 0; i < operand.size(); ++i) how.known[i] = scales_->known(operand[i]);
  const TensorView& weight = call.inputs[1];
  const bool codes = weight.there() && weight.type == DType::F8;
  if (codes) {
    const StageState& stage = a.device.stage(a.place);
    how.weight = codes_at(a.place, stage.weights[0].data, static_cast<std::byte*>(weight.data));
    if (narrow_->tiles) {
      const auto p = static_cast<std::size_t>(placed.of_tensor[call.node.inputs[1].value]);
      how.weight.tiles = stage.tiles[tiles_at(a.place, placed, placed.parameters[p])];
    }
  }
  if (multiplies_integers(*narrow_))
    run_flex(call, run.pass, how);
  else
    trainyard::run_narrow(call, run.pass, how);
  // Nobody updates frozen weights, whose size stays as it is.
  if (codes && is_frozen(call.node))
    how.seen[NarrowOperands::Weight] = how.known[NarrowOperands::Weight];
  if (narrow_->whole_tensor)
    for (std::size_t i = 0; i < operand.size(); ++i) scales_->see(operand[i], how.seen[i]);
}

// Backward gathers what the ranks of sequence parallel keep narrow: each writes its own part as it
// was before the cast, for as long as the gather takes.
void CpuExecution::widen(const At& a, std::size_t l, Flight& f, const Operand& from) const {
  const PlacedLayer& placed = plan_.places[a.place].layers[l];
  const LayerLayout& layout = plan_.layouts[static_cast<std::size_t>(placed.layout)];
  const auto index = static_cast<std::size_t>(from.index);
  if (from.where != Operand::Where::Saved || !layout.body->saved[index].narrow) return;
  NarrowCopy& copy = f.layers[l].narrow[index];
  if (!copy.wide.empty() || copy.scales.empty()) return;
  const Routing& routing = f.layers[l].routing;
  const LayerSizes& sizes = a.device.sizes(a.place, l, f);
  const OwnRows own =
      own_rows(layout, sizes, routing, from.tensor, plan_.peers.tensor_rank(a.device.peer()));
  TensorView part = sizes.local[from.tensor.value];
  part.size = {own.count, width(part)};
  part.rank = 2;
  copy.wide.resize(static_cast<std::size_t>(std::max<std::int64_t>(1, part.bytes().value)));
  part.data = copy.wide.data();
  const auto* const codes = reinterpret_cast<const std::uint8_t*>(f.layers[l].saved[index].data);
  if (multiplies_integers(*narrow_)) return widen_flex(part, codes, copy.scales.front());
  std::span<const std::int32_t> experts;
  if (layout.at_experts[from.tensor.value])
    experts =
        std::span(routing.held)
            .subspan(static_cast<std::size_t>(own.first), static_cast<std::size_t>(own.count));
  const bool no_negative =
      never_negative(plan_.workload.scenario.model, placed.model_layer, from.tensor);
  widen_kept(*narrow_, no_negative, part, codes, copy.scales, experts);
}

}  // namespace trainyard

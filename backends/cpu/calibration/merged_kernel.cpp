#include "backends/cpu/calibration/merged_kernel.h"

#include <algorithm>
#include <utility>

#include "backends/cpu/kernels/kernel.h"
#include "backends/cpu/kernels/small_product.h"
#include "core/model/merged_nodes.h"
#include "core/model/ops.h"

namespace trainyard {
namespace {

constexpr std::size_t kWeight = 1;  // tensor of the merged graph

}  // namespace

MergedKernel::MergedKernel(const Graph& graph, const Binding& binding,
                           std::vector<const Rehearsal::Bound*> parts)
    : binding_(binding), parts_(std::move(parts)) {
  std::vector<const Node*> nodes;
  for (const Rehearsal::Bound* part : parts_) nodes.push_back(&graph[part->op->node]);
  graph_ = merged_nodes(graph, nodes);
  lay_out(graph);
}

// The last tensor is the output; one between it and the weight is the bias.
void MergedKernel::lay_out(const Graph& graph) {
  const bool product = graph_.nodes[0].op == &matmul();
  operands_.resize(graph_.tensors.size());
  for (std::size_t t = kWeight; t < graph_.tensors.size(); ++t) {
    Joined& joined = operands_[t];
    for (const Dim& dim : graph_.tensors[t].shape)
      joined.view.size[static_cast<std::size_t>(joined.view.rank++)] = local_size(dim, binding_);
    const auto& whole = joined.view.size;
    const bool output = t == graph_.output.value;
    std::int64_t before = 0;  // elements of a row that earlier parts have
    for (const Rehearsal::Bound* part : parts_) {
      const Node& node = graph[part->op->node];
      const Shape& shape = graph[output ? node.outputs[0] : node.inputs[t]].shape;
      std::vector<std::int64_t> size;
      for (const Dim& dim : shape) size.push_back(local_size(dim, binding_));
      Piece piece{1, 1, 1, 0, 0, before};
      if (product || shape.size() == 1) {  // rows lie side by side
        piece.width = size.back();
        for (std::size_t i = 0; i + 1 < size.size(); ++i) piece.rows *= size[i];
        piece.row_step = whole[shape.size() - 1];
        before += piece.width;
      } else if (output) {  // and so do the channels of each image
        piece.rows = size[0], piece.width = size[1] * size[2] * size[3];
        piece.row_step = whole[1] * whole[2] * whole[3];
        before += piece.width;
      } else {  // a kernel lies in the middle of a larger one
        piece.planes = size[0] * size[1], piece.rows = size[2], piece.width = size[3];
        piece.plane_step = whole[2] * whole[3], piece.row_step = whole[3];
        piece.offset += (whole[2] - size[2]) / 2 * whole[3] + (whole[3] - size[3]) / 2;
        before += piece.planes * piece.plane_step;
        if (piece.row_step == piece.width && piece.plane_step == piece.rows * piece.width)
          piece = {1, 1, piece.planes * piece.plane_step, 0, 0, piece.offset};
      }
      joined.pieces.push_back(piece);
    }
  }
}

const TensorView& MergedKernel::part_of(const Rehearsal::Bound& part, std::size_t operand,
                                        bool gradient) const {
  if (operand == graph_.output.value) return gradient ? part.output_gradients[0] : part.outputs[0];
  return gradient ? part.weight_gradients[operand] : part.inputs[operand];
}

// Returns whether the parts leave nothing between them, as the zeros around a smaller kernel are.
bool MergedKernel::fills(std::size_t operand) const {
  std::int64_t elements = 0;
  for (const Piece& p : operands_[operand].pieces) elements += p.planes * p.rows * p.width;
  return elements == operands_[operand].view.elements();
}

bool MergedKernel::dense(std::size_t operand) const {
  const std::vector<Piece>& pieces = operands_[operand].pieces;
  return fills(operand) && std::all_of(pieces.begin(), pieces.end(),
                                       [](const Piece& p) { return p.planes == 1 && p.rows == 1; });
}

std::vector<std::vector<TensorView>> MergedKernel::dense_operands() const {
  std::vector<std::vector<TensorView>> list;
  for (std::size_t operand = kWeight; operand < operands_.size(); ++operand)
    for (const bool gradient : {false, true}) {
      std::vector<TensorView> views;
      for (const Rehearsal::Bound* part : parts_) {
        const bool has =
            operand != graph_.output.value || !gradient || !part->output_gradients.empty();
        if (has && part_of(*part, operand, gradient).there())
          views.push_back(part_of(*part, operand, gradient));
      }
      if (dense(operand) && views.size() == parts_.size()) list.push_back(std::move(views));
    }
  return list;
}

bool MergedKernel::lies_there(std::size_t operand, bool gradient, const TensorView& whole) const {
  return whole.data == part_of(*parts_.front(), operand, gradient).data;
}

TensorView MergedKernel::room(std::size_t operand, bool gradient, Scratch& scratch) const {
  TensorView made = operands_[operand].view;
  const float* next = part_of(*parts_.front(), operand, gradient).f32();
  made.data = const_cast<float*>(next);
  for (std::size_t i = 0; i < parts_.size() && made.data != nullptr; ++i) {
    if (!dense(operand) || part_of(*parts_[i], operand, gradient).f32() != next)
      made.data = nullptr;
    next += operands_[operand].pieces[i].width;
  }
  if (!made.there()) made.data = scratch.floats(made.elements());
  return made;
}

TensorView MergedKernel::join(std::size_t operand, bool gradient, Scratch& scratch) const {
  const TensorView made = room(operand, gradient, scratch);
  if (lies_there(operand, gradient, made)) return made;
  const std::vector<Piece>& pieces = operands_[operand].pieces;
  if (!fills(operand)) std::fill_n(made.f32(), made.elements(), 0.0F);
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const Piece& p = pieces[i];
    const float* from = part_of(*parts_[i], operand, gradient).f32();
    for (std::int64_t plane = 0; plane < p.planes; ++plane)
      give_rows(p.rows, p.width, from + plane * p.rows * p.width, p.width,
                made.f32() + p.offset + plane * p.plane_step, p.row_step, false);
  }
  return made;
}

// Outputs are written, and gradients of weights added.
void MergedKernel::give(std::size_t operand, bool gradient, const TensorView& whole) const {
  if (lies_there(operand, gradient, whole)) return;
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    const Piece& p = operands_[operand].pieces[i];
    float* const to = part_of(*parts_[i], operand, gradient).f32();
    for (std::int64_t plane = 0; plane < p.planes; ++plane)
      give_rows(p.rows, p.width, whole.f32() + p.offset + plane * p.plane_step, p.row_step,
                to + plane * p.rows * p.width, p.width, gradient);
  }
}

void MergedKernel::run(Scratch& scratch) const {
  const Scratch::Frame frame(scratch);
  const Rehearsal::Bound& first = *parts_.front();
  const Pass pass = first.op->recomputed ? Pass::Forward : first.op->pass;
  const std::size_t output = graph_.output.value;
  std::vector<TensorView> inputs(output), outputs(1), output_gradients(1), input_gradients(output),
      weight_gradients(output);
  std::vector<std::uint8_t> adds(output);
  inputs[0] = first.inputs[0];
  if (pass != Pass::BackwardWeight) inputs[kWeight] = join(kWeight, false, scratch);
  if (pass != Pass::Forward) output_gradients[0] = join(output, true, scratch);
  if (pass == Pass::Forward) {
    outputs[0] = room(output, false, scratch);
    for (std::size_t t = kWeight + 1; t < output; ++t) inputs[t] = join(t, false, scratch);
  } else if (pass == Pass::BackwardInput) {
    input_gradients[0] = first.input_gradients[0], adds[0] = first.adds[0];
  } else {
    for (std::size_t t = kWeight; t < output; ++t) {
      weight_gradients[t] = room(t, true, scratch);
      if (!lies_there(t, true, weight_gradients[t]))
        std::fill_n(weight_gradients[t].f32(), weight_gradients[t].elements(), 0.0F);
    }
  }
  KernelCall call{
      .graph = graph_, .node = graph_.nodes[0], .binding = binding_, .scratch = scratch};
  call.inputs = inputs, call.outputs = outputs, call.output_gradients = output_gradients;
  call.input_gradients = input_gradients, call.adds = adds;
  call.weight_gradients = weight_gradients;
  run_kernel(call, pass);
  if (pass == Pass::Forward) give(output, false, outputs[0]);
  for (std::size_t t = kWeight; t < output && pass == Pass::BackwardWeight; ++t)
    give(t, true, weight_gradients[t]);
}

}  // namespace trainyard

#include "backends/cpu/kernels/vector_product.h"

#include "backends/cpu/kernels/convert.h"
#include "backends/cpu/kernels/operands.h"
#include "core/training/numbers/vector_scales.h"

namespace trainyard {
namespace {

VectorScales of_weights(const NarrowScaling& how) {
  return {how.vectors->weights, how.block, how.vectors->scale};
}
VectorScales of_inputs(const NarrowScaling& how, bool no_negative) {
  return {how.vectors->activations, how.block, how.vectors->scale, !no_negative};
}

Lines rows_of(const TensorView& view) { return {rows(view), width(view), 1}; }

class VectorRun {
 public:
  VectorRun(const KernelCall& call, NarrowOperands& how) : call_(call), how_(how) {}

  TensorView weight() const {
    const TensorView& w = input(call_, 1);
    // A transposed weight has the inputs of each output side by side.
    const Lines lines = w.transposed
                            ? Lines{w.size[1], w.size[0], 1}
                            : lines_of_weight({w.size.data(), static_cast<std::size_t>(w.rank)},
                                              /*along_outputs=*/false);
    const TensorView floats = as_floats(w);
    const VectorCodes made = to_vectors(of_weights(how_.scaling), lines, floats.f32());
    from_vectors(of_weights(how_.scaling), lines, made.codes, made.scales, floats.f32());
    return floats;
  }

  // Rounds an input, and keeps the codes of this device's own rows where forward is asked to.
  TensorView rounded(const TensorView& view, bool keeps) const {
    const VectorScales scales = of_inputs(how_.scaling, how_.no_negative_input);
    const Lines lines = rows_of(view);
    const TensorView floats = as_floats(view);
    const VectorCodes made = to_vectors(scales, lines, floats.f32());
    from_vectors(scales, lines, made.codes, made.scales, floats.f32());
    if (keeps) keep(scales, lines, made);
    return floats;
  }

  TensorView kept(const TensorView& view) const {
    const TensorView floats = from_kept(view, call_.scratch.floats(view.elements()));
    unpack(how_.scaling, how_.no_negative_input, floats, how_.codes, *how_.scales);
    return floats;
  }
  bool has_kept() const { return how_.codes != nullptr && !how_.scales->empty(); }

  static void unpack(const NarrowScaling& how, bool no_negative, const TensorView& floats,
                     const std::uint8_t* packed, std::span<const float> kept_scales) {
    const VectorScales scales = of_inputs(how, no_negative);
    std::vector<std::int16_t> codes(static_cast<std::size_t>(floats.elements()));
    unpack_codes(scales, packed, codes);
    from_vectors(scales, rows_of(floats), codes, kept_scales, floats.f32());
  }
  static TensorView from_kept(TensorView view, float* floats) {
    view.data = floats;
    view.type = DType::F32;
    return view;
  }

 private:
  TensorView as_floats(const TensorView& view) const {
    const TensorView floats = from_kept(view, call_.scratch.floats(view.elements()));
    to_floats(view.data, view.type, floats.f32(), view.elements());
    return floats;
  }
  void keep(const VectorScales& scales, const Lines& lines, const VectorCodes& made) const {
    const bool all = how_.kept_rows < 0;
    const std::int64_t first = all ? 0 : how_.first_kept_row,
                       count = all ? lines.outer : how_.kept_rows,
                       vectors = vectors_in_line(scales, lines);
    const auto part = [&](auto& of, std::int64_t each) {
      return std::span(of).subspan(static_cast<std::size_t>(first * each),
                                   static_cast<std::size_t>(count * each));
    };
    pack_codes(scales, part(made.codes, lines.length), how_.codes);
    const auto own = part(made.scales, vectors);
    how_.scales->assign(own.begin(), own.end());
    // A rank without copies for its experts has kept nothing of them all the same.
    if (how_.scales->empty()) how_.scales->push_back(1);
  }

  const KernelCall& call_;
  NarrowOperands& how_;
};

}  // namespace

void run_vectors(const KernelCall& call, Pass pass, NarrowOperands& how) {
  const Scratch::Frame frame(call.scratch);
  const VectorRun run(call, how);
  KernelCall inner = call;
  std::vector<TensorView> inputs(call.inputs.begin(), call.inputs.end());
  inner.inputs = inputs;
  switch (pass) {
    case Pass::Forward:
      inputs[0] = run.rounded(input(call, 0), how.codes != nullptr);
      inputs[1] = run.weight();
      break;
    case Pass::BackwardInput:
      if (!target(call, 0)) return;
      inputs[1] = run.weight();
      break;
    case Pass::BackwardWeight:
      if (target(call, 1) && !how.rounded_input)
        inputs[0] = run.has_kept() ? run.kept(call.inputs[0])
                                   : run.rounded(input(call, 0), /*keeps=*/false);
      break;
  }
  run_kernel(inner, pass);
}

void widen_vectors(const NarrowScaling& how, bool no_negative, const TensorView& into,
                   const std::uint8_t* codes, std::span<const float> scales) {
  std::vector<float> floats(static_cast<std::size_t>(into.elements()));
  VectorRun::unpack(how, no_negative, VectorRun::from_kept(into, floats.data()), codes, scales);
  from_floats(floats.data(), into.data, into.type, into.elements());
}

}  // namespace trainyard

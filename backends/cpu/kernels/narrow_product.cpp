#include "backends/cpu/kernels/narrow_product.h"

#include "backends/cpu/kernels/convert.h"
#include "backends/cpu/kernels/operands.h"

namespace trainyard {
namespace {

TensorView as_floats(TensorView view, float* floats) {
  view.data = floats;
  view.type = DType::F32;
  return view;
}

class NarrowRun {
 public:
  NarrowRun(const KernelCall& call, NarrowOperands& how) : call_(call), how_(how) {}

  TensorView narrowed(const TensorView& view, NarrowOperands::Which which, const Lines& lines) {
    const std::int64_t count = view.elements();
    float* floats = call_.scratch.floats(count);
    to_floats(view.data, view.type, floats, count);
    auto* codes = static_cast<std::uint8_t*>(
        call_.scratch.take(static_cast<std::size_t>(code_bytes(format(which), count))));
    float* scales = call_.scratch.floats(scale_count(how_.scaling, lines));
    to_narrow(how_.scaling, format(which), lines, largest(floats, which, count), floats, codes,
              scales);
    from_narrow(how_.scaling, format(which), lines, codes, scales, floats);
    return as_floats(view, floats);
  }

  // The input's codes for the weight gradient, along the rows.
  void keep(const TensorView& view) {
    const Lines lines = along_rows(view);
    const Scratch::Frame frame(call_.scratch);
    float* floats = call_.scratch.floats(view.elements());
    to_floats(view.data, view.type, floats, view.elements());
    how_.scales->resize(static_cast<std::size_t>(scale_count(how_.scaling, lines)));
    to_narrow(how_.scaling, how_.scaling.element, lines,
              largest(floats, NarrowOperands::Input, view.elements()), floats, how_.codes,
              how_.scales->data());
  }
  TensorView kept(const TensorView& view) const {
    float* floats = call_.scratch.floats(view.elements());
    from_narrow(how_.scaling, how_.scaling.element, along_rows(view), how_.codes,
                how_.scales->data(), floats);
    return as_floats(view, floats);
  }
  bool has_kept() const { return how_.codes != nullptr && !how_.scales->empty(); }

  static Lines along_rows(const TensorView& v) { return {1, rows(v), width(v)}; }
  static Lines along_width(const TensorView& v) { return {rows(v), width(v), 1}; }

 private:
  const SmallFloat& format(NarrowOperands::Which which) const {
    return which == NarrowOperands::Gradient ? how_.scaling.gradient : how_.scaling.element;
  }
  float largest(const float* floats, NarrowOperands::Which which, std::int64_t count) {
    const bool of_tensor =
        how_.scaling.whole_tensor || how_.scaling.scale == NarrowScaling::Scale::OfTensorAndBlock;
    if (!of_tensor) return 0;
    how_.seen[which] = largest_size(floats, count);
    return how_.known[which] > 0 ? how_.known[which] : how_.seen[which];
  }

  const KernelCall& call_;
  NarrowOperands& how_;
};

}  // namespace

void run_narrow(const KernelCall& call, Pass pass, NarrowOperands& how) {
  const Scratch::Frame frame(call.scratch);
  NarrowRun run(call, how);
  KernelCall inner = call;
  std::vector<TensorView> inputs(call.inputs.begin(), call.inputs.end()),
      gradients(call.output_gradients.begin(), call.output_gradients.end()),
      weight_gradients(call.weight_gradients.begin(), call.weight_gradients.end());
  inner.inputs = inputs, inner.output_gradients = gradients;
  const auto weight = [&](bool along_outputs) {
    const TensorView& w = input(call, 1);
    return run.narrowed(
        w, NarrowOperands::Weight,
        along_outputs != w.transposed
            ? Lines{w.size[along_outputs ? 0 : 1], w.size[along_outputs ? 1 : 0], 1}
            : Lines{1, w.size[along_outputs ? 1 : 0], w.size[along_outputs ? 0 : 1]});
  };
  if (pass == Pass::Forward) {
    const TensorView& x = input(call, 0);
    if (how.codes != nullptr) run.keep(x);
    inputs[0] = run.narrowed(x, NarrowOperands::Input, NarrowRun::along_width(x));
    inputs[1] = weight(false);
  } else if (pass == Pass::BackwardInput) {
    if (!target(call, 0)) return;
    const TensorView& dy = output_gradient(call);
    gradients[0] = run.narrowed(dy, NarrowOperands::Gradient, NarrowRun::along_width(dy));
    inputs[1] = weight(true);
  } else {
    // The gradient of a bias is a sum and no product.
    if (weight_gradients.size() > 2 && weight_gradients[2].there()) {
      weight_gradients[1].data = nullptr;
      inner.weight_gradients = weight_gradients;
      inner.output_gradients = call.output_gradients;
      run_kernel(inner, pass);
      weight_gradients[1] = call.weight_gradients[1];
      weight_gradients[2].data = nullptr;
    }
    inner.weight_gradients = weight_gradients;
    inner.output_gradients = gradients;
    if (!target(inner, 1)) return;
    const TensorView& dy = output_gradient(call);
    gradients[0] = run.narrowed(dy, NarrowOperands::Gradient, NarrowRun::along_rows(dy));
    inputs[0] = run.has_kept() ? run.kept(call.inputs[0])
                               : run.narrowed(input(call, 0), NarrowOperands::Input,
                                              NarrowRun::along_rows(input(call, 0)));
  }
  run_kernel(inner, pass);
}

}  // namespace trainyard

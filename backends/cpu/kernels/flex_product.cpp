#include "backends/cpu/kernels/flex_product.h"

#include "backends/cpu/kernels/convert.h"
#include "backends/cpu/kernels/operands.h"
#include "core/training/numbers/autoflex.h"

namespace trainyard {
namespace {

std::size_t count_of(const TensorView& view) { return static_cast<std::size_t>(view.elements()); }

class FlexRun {
 public:
  FlexRun(const KernelCall& call, NarrowOperands& how) : call_(call), how_(how) {}

  TensorView rounded(const TensorView& view, NarrowOperands::Which which) {
    float* const numbers = floats_of(view);
    const float step = step_of(numbers, view.elements(), which);
    const Scratch::Frame frame(call_.scratch);
    auto* const mantissas =
        static_cast<std::int16_t*>(call_.scratch.take(sizeof(std::int16_t) * count_of(view)));
    to_flex({numbers, count_of(view)}, step, mantissas);
    from_flex({mantissas, count_of(view)}, step, numbers);
    return as_floats(view, numbers);
  }
  void keep(TensorView view) {
    const Scratch::Frame frame(call_.scratch);
    const float step = step_of(floats_of(view), view.elements(), NarrowOperands::Input);
    if (how_.kept_rows >= 0) {
      view.data = static_cast<std::byte*>(view.data) +
                  how_.first_kept_row * width(view) * bytes_of(view.type);
      view.size = {how_.kept_rows, width(view)};
      view.rank = 2;
    }
    to_flex({floats_of(view), count_of(view)}, step, reinterpret_cast<std::int16_t*>(how_.codes));
    how_.scales->assign(1, step);
  }
  TensorView kept(const TensorView& view) const {
    float* const numbers = call_.scratch.floats(view.elements());
    from_flex({reinterpret_cast<const std::int16_t*>(how_.codes), count_of(view)},
              how_.scales->front(), numbers);
    return as_floats(view, numbers);
  }
  bool has_kept() const { return how_.codes != nullptr && !how_.scales->empty(); }

 private:
  static TensorView as_floats(TensorView view, float* numbers) {
    view.data = numbers;
    view.type = DType::F32;
    return view;
  }
  float* floats_of(const TensorView& view) const {
    float* const numbers = call_.scratch.floats(view.elements());
    to_floats(view.data, view.type, numbers, view.elements());
    return numbers;
  }
  float step_of(const float* numbers, std::int64_t count, NarrowOperands::Which which) {
    how_.seen[which] = largest_size(numbers, count);
    return how_.known[which] > 0 ? how_.known[which] / kLargestMantissa
                                 : first_flex_step(how_.seen[which]).step;
  }

  const KernelCall& call_;
  NarrowOperands& how_;
};

}  // namespace

void run_flex(const KernelCall& call, Pass pass, NarrowOperands& how) {
  const Scratch::Frame frame(call.scratch);
  FlexRun run(call, how);
  KernelCall inner = call;
  std::vector<TensorView> inputs(call.inputs.begin(), call.inputs.end()),
      gradients(call.output_gradients.begin(), call.output_gradients.end()),
      weight_gradients(call.weight_gradients.begin(), call.weight_gradients.end());
  inner.inputs = inputs, inner.output_gradients = gradients;
  if (pass == Pass::Forward) {
    const TensorView& x = input(call, 0);
    if (how.codes != nullptr) run.keep(x);
    inputs[0] = run.rounded(x, NarrowOperands::Input);
    inputs[1] = run.rounded(input(call, 1), NarrowOperands::Weight);
  } else if (pass == Pass::BackwardInput) {
    if (!target(call, 0)) return;
    gradients[0] = run.rounded(output_gradient(call), NarrowOperands::Gradient);
    inputs[1] = run.rounded(input(call, 1), NarrowOperands::Weight);
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
    gradients[0] = run.rounded(output_gradient(call), NarrowOperands::Gradient);
    inputs[0] = run.has_kept() ? run.kept(call.inputs[0])
                               : run.rounded(input(call, 0), NarrowOperands::Input);
  }
  run_kernel(inner, pass);
}

void widen_flex(const TensorView& into, const std::uint8_t* mantissas, float step) {
  std::vector<float> numbers(count_of(into));
  from_flex({reinterpret_cast<const std::int16_t*>(mantissas), numbers.size()}, step,
            numbers.data());
  from_floats(numbers.data(), into.data, into.type, into.elements());
}

}  // namespace trainyard

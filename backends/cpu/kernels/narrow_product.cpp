#include "backends/cpu/kernels/narrow_product.h"

#include <algorithm>
#include <numeric>

#include "backends/cpu/kernels/convert.h"
#include "backends/cpu/kernels/operands.h"
#include "backends/cpu/kernels/ops/by_expert.h"
#include "backends/cpu/kernels/vector_product.h"
#include "core/model/ops.h"

namespace trainyard {
namespace {

// Elements that are cast together, side by side from the first one on.
struct Part {
  std::int64_t first = 0;
  Lines lines;
};

TensorView as_floats(TensorView view, float* floats) {
  view.data = floats;
  view.type = DType::F32;
  return view;
}

class NarrowRun {
 public:
  NarrowRun(const KernelCall& call, NarrowOperands& how)
      : call_(call), how_(how), routed_(call.node.op == &routed_matmul()) {}

  TensorView weight(bool along_outputs) {
    const TensorView& w = input(call_, 1);
    if (how_.scaling.tiles) return in_tiles(w);
    const Lines lines = lines_of_weight({w.size.data(), static_cast<std::size_t>(w.rank)},
                                        along_outputs != w.transposed);
    if (w.type == DType::F8) return from_codes(w, lines, along_outputs);
    float* floats = floats_of(w);
    cast(floats, {{0, lines}}, NarrowOperands::Weight, w.elements());
    return as_floats(w, floats);
  }
  TensorView along_width(const TensorView& view, NarrowOperands::Which which) {
    float* floats = floats_of(view);
    cast(floats, {{0, {rows(view), width(view), 1}}}, which, view.elements());
    return as_floats(view, floats);
  }
  // A product over the rows of routed copies is one for each expert, of that expert's rows.
  TensorView along_rows(const TensorView& view, NarrowOperands::Which which) {
    return by_rows(call_, view, floats_of(view),
                   [&](float* floats, const std::vector<Part>& parts) {
                     cast(floats, parts, which, view.elements());
                   });
  }

  // The input's codes for the weight gradient, along the rows.
  void keep(TensorView view) {
    KernelCall of_kept = call_;
    Routing routing_of_kept;
    if (how_.kept_rows >= 0) {
      if (routed_) {
        const auto first = routing(call_).held.begin() + how_.first_kept_row;
        routing_of_kept.held.assign(first, first + how_.kept_rows);
        of_kept.routing = &routing_of_kept;
      }
      const std::int64_t before = how_.first_kept_row * width(view);
      view.data = static_cast<std::byte*>(view.data) + before * bytes_of(view.type);
      view.size = {how_.kept_rows, width(view)};
      view.rank = 2;
    }
    const Scratch::Frame frame(call_.scratch);
    by_rows(of_kept, view, floats_of(view), [&](float* floats, const std::vector<Part>& parts) {
      std::int64_t scales = 0;
      for (const Part& part : parts) scales += scale_count(how_.scaling, part.lines);
      // A rank may have no copies for its experts, and keeps nothing of them.
      how_.scales->assign(static_cast<std::size_t>(std::max<std::int64_t>(1, scales)), 1);
      const float most = largest(floats, NarrowOperands::Input, view.elements());
      each(parts, how_.scaling.element, how_.codes, how_.scales->data(),
           [&](const Part& part, std::uint8_t* codes, float* own) {
             to_narrow(how_.scaling, how_.scaling.element, part.lines, most, floats + part.first,
                       codes, own);
           });
    });
  }
  TensorView kept(const TensorView& view) {
    return by_rows(call_, view, call_.scratch.floats(view.elements()),
                   [&](float* floats, const std::vector<Part>& parts) {
                     each(parts, how_.scaling.element, how_.codes, how_.scales->data(),
                          [&](const Part& part, std::uint8_t* codes, float* own) {
                            from_narrow(how_.scaling, how_.scaling.element, part.lines, codes, own,
                                        floats + part.first);
                          });
                   });
  }
  bool has_kept() const { return how_.codes != nullptr && !how_.scales->empty(); }

 private:
  TensorView in_tiles(const TensorView& w) {
    std::array<std::int64_t, kMostDims> shape = w.size;
    if (w.transposed) std::swap(shape[0], shape[1]);
    const Tiles tiles =
        tiles_of_weight({shape.data(), static_cast<std::size_t>(w.rank)}, how_.scaling);
    const auto n = static_cast<std::size_t>(w.elements());
    std::span<const std::uint8_t> codes(how_.weight.codes[0], n);
    std::span<const float> largest = how_.weight.tiles;
    std::vector<float> found;
    float* const floats = w.type == DType::F8 ? call_.scratch.floats(w.elements()) : floats_of(w);
    if (w.type != DType::F8) {
      found.resize(static_cast<std::size_t>(tiles.count()));
      see_tiles(tiles, 0, {floats, n}, found);
      largest = found;
      auto* const cast = static_cast<std::uint8_t*>(call_.scratch.take(n));
      tiles_to_narrow(how_.scaling.element, tiles, 0, {floats, n}, largest, cast);
      codes = {cast, n};
    }
    tiles_from_narrow(how_.scaling.element, tiles, 0, codes, largest, floats);
    return as_floats(w, floats);
  }
  TensorView from_codes(const TensorView& w, const Lines& lines, bool along_outputs) {
    float* floats = call_.scratch.floats(w.elements());
    const std::uint8_t* const own = how_.weight.scales[along_outputs];
    std::vector<float> scales(
        1, tensor_scale(how_.scaling.element, how_.known[NarrowOperands::Weight]));
    if (own != nullptr) {
      scales.resize(static_cast<std::size_t>(scale_count(how_.scaling, lines)));
      std::transform(own, own + scales.size(), scales.begin(), power_of_code);
    }
    from_narrow(how_.scaling, how_.scaling.element, lines, how_.weight.codes[along_outputs],
                scales.data(), floats);
    return as_floats(w, floats);
  }
  const SmallFloat& format(NarrowOperands::Which which) const {
    return which == NarrowOperands::Gradient ? how_.scaling.gradient : how_.scaling.element;
  }
  float* floats_of(const TensorView& view) const {
    float* floats = call_.scratch.floats(view.elements());
    to_floats(view.data, view.type, floats, view.elements());
    return floats;
  }
  float largest(const float* floats, NarrowOperands::Which which, std::int64_t count) {
    const bool of_tensor =
        how_.scaling.whole_tensor || how_.scaling.scale == NarrowScaling::Scale::OfTensorAndBlock;
    if (!of_tensor) return 0;
    how_.seen[which] = largest_size(floats, count);
    return how_.known[which] > 0 ? how_.known[which] : how_.seen[which];
  }
  // Calls f(part, its codes, its scales) for parts whose codes and scales follow one another.
  template <class F>
  void each(const std::vector<Part>& parts, const SmallFloat& format, std::uint8_t* codes,
            float* scales, F&& f) const {
    for (const Part& part : parts) {
      f(part, codes, scales);
      codes += code_bytes(format, part.lines.elements());
      scales += scale_count(how_.scaling, part.lines);
    }
  }
  // Replaces floats by the numbers that their codes stand for.
  void cast(float* floats, const std::vector<Part>& parts, NarrowOperands::Which which,
            std::int64_t count) {
    const float most = largest(floats, which, count);
    for (const Part& part : parts) {
      const Scratch::Frame frame(call_.scratch);
      float* const own = floats + part.first;
      auto* codes = static_cast<std::uint8_t*>(call_.scratch.take(
          static_cast<std::size_t>(code_bytes(format(which), part.lines.elements()))));
      float* scales = call_.scratch.floats(scale_count(how_.scaling, part.lines));
      to_narrow(how_.scaling, format(which), part.lines, most, own, codes, scales);
      from_narrow(how_.scaling, format(which), part.lines, codes, scales, own);
    }
  }
  // Calls f(floats, parts) with the rows in the order in which a product sums over them, and
  // returns the view of the floats in their own order. `call` says to which experts the rows go.
  template <class F>
  TensorView by_rows(const KernelCall& call, const TensorView& view, float* floats, F&& f) {
    const TensorView wide = as_floats(view, floats);
    if (!routed_) {
      f(floats, std::vector<Part>{{0, {1, rows(view), width(view)}}});
      return wide;
    }
    const std::int64_t experts = input_shape(1)[0];
    const ByExpert by(call, rows(view), experts);
    float* const ordered = by.gathered(wide);
    std::vector<Part> parts;
    by.each(experts, [&](std::int64_t, std::int64_t first, std::int64_t count) {
      parts.push_back({first * width(view), {1, count, width(view)}});
    });
    f(ordered, parts);
    by.give_back(ordered, wide, false);
    return wide;
  }
  // A weight gradient is called without weights.
  const std::array<std::int64_t, kMostDims>& input_shape(std::size_t i) const {
    return call_.inputs[i].there() ? call_.inputs[i].size : call_.weight_gradients[i].size;
  }

  const KernelCall& call_;
  NarrowOperands& how_;
  bool routed_;
};

}  // namespace

void run_narrow(const KernelCall& call, Pass pass, NarrowOperands& how) {
  if (how.scaling.vectors) return run_vectors(call, pass, how);
  const Scratch::Frame frame(call.scratch);
  NarrowRun run(call, how);
  KernelCall inner = call;
  std::vector<TensorView> inputs(call.inputs.begin(), call.inputs.end()),
      gradients(call.output_gradients.begin(), call.output_gradients.end()),
      weight_gradients(call.weight_gradients.begin(), call.weight_gradients.end());
  inner.inputs = inputs, inner.output_gradients = gradients;
  if (pass == Pass::Forward) {
    const TensorView& x = input(call, 0);
    if (how.codes != nullptr) run.keep(x);
    inputs[0] = run.along_width(x, NarrowOperands::Input);
    inputs[1] = run.weight(false);
  } else if (pass == Pass::BackwardInput) {
    if (!target(call, 0)) return;
    gradients[0] = run.along_width(output_gradient(call), NarrowOperands::Gradient);
    inputs[1] = run.weight(true);
  } else {
    if (inputs[1].type == DType::F8) inputs[1].data = nullptr;  // nobody reads it in this pass
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
    gradients[0] = run.along_rows(output_gradient(call), NarrowOperands::Gradient);
    inputs[0] = run.has_kept() ? run.kept(call.inputs[0])
                               : run.along_rows(input(call, 0), NarrowOperands::Input);
  }
  run_kernel(inner, pass);
}

void widen_kept(const NarrowScaling& scaling, bool no_negative, const TensorView& into,
                const std::uint8_t* codes, std::span<const float> scales,
                std::span<const std::int32_t> experts) {
  if (scaling.vectors) return widen_vectors(scaling, no_negative, into, codes, scales);
  const std::int64_t n = width(into);
  std::vector<float> floats(static_cast<std::size_t>(into.elements())), together;
  // Gives each place among the codes its row: rows of an expert lie side by side, in their order.
  std::vector<std::int64_t> order(experts.size());
  std::iota(order.begin(), order.end(), 0);
  const auto expert = [&](std::int64_t row) { return experts[static_cast<std::size_t>(row)]; };
  std::erase_if(order, [&](std::int64_t row) { return expert(row) < 0; });
  std::stable_sort(order.begin(), order.end(),
                   [&](std::int64_t a, std::int64_t b) { return expert(a) < expert(b); });
  const auto end = order.end();
  for (auto first = order.begin(); first != end;) {
    const auto last =
        std::find_if(first, end, [&](std::int64_t row) { return expert(row) != expert(*first); });
    const Lines lines{1, last - first, n};
    together.resize(static_cast<std::size_t>(lines.elements()));
    from_narrow(scaling, scaling.element, lines, codes, scales.data(), together.data());
    for (const float* from = together.data(); first != last; from += n)
      std::copy_n(from, n, floats.data() + *first++ * n);
    codes += code_bytes(scaling.element, lines.elements());
    scales = scales.subspan(static_cast<std::size_t>(scale_count(scaling, lines)));
  }
  if (experts.empty())
    from_narrow(scaling, scaling.element, {1, rows(into), n}, codes, scales.data(), floats.data());
  from_floats(floats.data(), into.data, into.type, into.elements());
}

}  // namespace trainyard

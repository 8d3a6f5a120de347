// Convolutions on oneDNN. Images and weights are passed as [.., channels, height, width]; oneDNN
// reorders them to blocks of channels if that pays for the reordering.
#include <optional>

#include "backends/cpu/kernels/convert.h"
#include "backends/cpu/kernels/convolution.h"
#include "backends/cpu/kernels/kernels.h"
#include "backends/cpu/kernels/onednn.h"
#include "backends/cpu/kernels/operands.h"
#include "backends/cpu/kernels/sums.h"

namespace trainyard {
namespace {

using dnnl::memory;
using onednn::Prepared;

struct Sizes {
  memory::dims x, w, y;  // w: with a leading dimension of groups if there are several
  std::int64_t stride, padding, above, groups;  // padding on the sides, and above and below
  DType type;                                   // of all operands; sums are in 4-byte floats
  bool bias;
  int variant = kConvolutionBlocked;

  memory::dims strides() const { return {stride, stride}; }
  memory::dims paddings() const { return {above, padding}; }
  onednn::Key key(std::int64_t pass) const {
    return {2 + pass,     x[0],   x[1],
            x[2],         x[3],   y[1],
            y[2],         y[3],   w[w.size() - 2],
            w.back(),     stride, padding,
            above,        groups, static_cast<std::int64_t>(type),
            bias ? 1 : 0, variant};
  }
  memory::desc plain(const memory::dims& dims) const {
    using Tag = memory::format_tag;
    return {dims, onednn::data_type(type), dims.size() == 5 ? Tag::goihw : Tag::nchw};
  }
  memory::desc any(const memory::dims& dims) const {
    if (variant == kConvolutionPlain) return plain(dims);
    return {dims, onednn::data_type(type), memory::format_tag::any};
  }
  dnnl::algorithm algorithm() const {
    return variant == kConvolutionWinograd ? dnnl::algorithm::convolution_winograd
                                           : dnnl::algorithm::convolution_direct;
  }
  // A 1 x 1 convolution does not need blocks, and few channels do not fill one (measured: 1.9
  // against 4.2 ms for 64 channels to 256 on 16 images of 28 x 28, convolution_forward).
  int usual(std::int64_t pass) const {
    const bool pixels =
        w.back() == 1 && w[w.size() - 2] == 1 && stride == 1 && padding == 0 && above == 0;
    return groups == 1 && (pixels || (pass == 1 && x[1] < 16)) ? kConvolutionPlain
                                                               : kConvolutionBlocked;
  }
  void choose(std::int64_t pass, const VariantChooser* chooser) {
    variant = usual(pass);
    if (chooser == nullptr || groups > 1 || type != DType::F32 || w[2] != w[3] || above != padding)
      return;
    variant =
        chooser->chosen({VariantKernel::Convolution,
                         {pass, x[0], x[1], x[2], x[3], y[1], y[2], y[3], w[3], stride, padding}},
                        variant);
  }
};

Sizes sizes(const KernelCall& call, const TensorView& x, const TensorView& w, const TensorView& y) {
  Sizes s;
  s.stride = attribute(call.node, "stride", 1), s.padding = attribute(call.node, "padding");
  s.above = row_padding(call.node);
  s.groups = attribute(call.node, "groups", 1);
  s.type = x.type == DType::BF16 && y.type == DType::BF16 && onednn::has_bf16() ? DType::BF16
                                                                                : DType::F32;
  s.bias = false;
  const auto dims = [](const TensorView& v) {
    return memory::dims(v.size.begin(), v.size.begin() + 4);
  };
  s.x = dims(x), s.w = dims(w), s.y = dims(y);
  if (s.groups > 1) {
    s.w[0] /= s.groups;
    s.w.insert(s.w.begin(), s.groups);
  }
  return s;
}

// An operand in the layout that a primitive wants.
class ConvolutionOperand {
 public:
  ConvolutionOperand(const memory::desc& plain, const memory::desc& inner, bool comes_out) {
    if (plain == inner) return;
    bytes_ = inner.get_size();
    const memory::desc &from = comes_out ? inner : plain, &to = comes_out ? plain : inner;
    const dnnl::reorder::primitive_desc desc(onednn::engine(), from, onednn::engine(), to,
                                             onednn::attributes());
    reorder_.emplace(dnnl::reorder(desc), desc.scratchpad_desc(),
                     std::initializer_list<std::pair<int, memory::desc>>{{DNNL_ARG_FROM, from},
                                                                         {DNNL_ARG_TO, to}});
  }
  /// The address at which the primitive finds it, reordered if necessary.
  const void* bring(const void* plain, Scratch& scratch) const {
    if (!reorder_) return plain;
    void* inner = scratch.take(bytes_);
    reorder_->run({plain, inner}, scratch);
    return inner;
  }
  /// The address to which the primitive writes; take_back() then reorders it into place.
  void* room(void* plain, Scratch& scratch) const {
    return reorder_ ? scratch.take(bytes_) : plain;
  }
  void take_back(const void* inner, void* plain, Scratch& scratch) const {
    if (reorder_) reorder_->run({inner, plain}, scratch);
  }

 private:
  std::size_t bytes_ = 0;
  std::optional<Prepared> reorder_;
};

/// One of the three passes, with two operands and one result.
struct ConvolutionPlan {
  ConvolutionOperand first, second, out;
  Prepared primitive;

  void run(const void* a, const void* b, const void* bias, void* c, Scratch& scratch) const {
    const Scratch::Frame frame(scratch);
    const void *at = first.bring(a, scratch), *bt = second.bring(b, scratch);
    void* ct = out.room(c, scratch);
    if (bias != nullptr)
      primitive.run({at, bt, ct, bias}, scratch);
    else
      primitive.run({at, bt, ct}, scratch);
    out.take_back(ct, c, scratch);
  }
};

dnnl::convolution_forward::primitive_desc forward_desc(const Sizes& s) {
  const memory::desc x = s.any(s.x), w = s.any(s.w), y = s.any(s.y);
  constexpr auto kKind = dnnl::prop_kind::forward_training;
  if (!s.bias)
    return {{kKind, s.algorithm(), x, w, y, s.strides(), s.paddings(), s.paddings()},
            onednn::attributes(),
            onednn::engine()};
  const memory::desc bias({s.y[1]}, memory::data_type::f32, memory::format_tag::a);
  return {{kKind, s.algorithm(), x, w, bias, y, s.strides(), s.paddings(), s.paddings()},
          onednn::attributes(),
          onednn::engine()};
}

ConvolutionPlan forward_plan(const Sizes& s) {
  const auto desc = forward_desc(s);
  const auto make = [&] {
    const dnnl::convolution_forward primitive(desc);
    if (!s.bias)
      return Prepared(primitive, desc.scratchpad_desc(),
                      {{DNNL_ARG_SRC, desc.src_desc()},
                       {DNNL_ARG_WEIGHTS, desc.weights_desc()},
                       {DNNL_ARG_DST, desc.dst_desc()}});
    return Prepared(primitive, desc.scratchpad_desc(),
                    {{DNNL_ARG_SRC, desc.src_desc()},
                     {DNNL_ARG_WEIGHTS, desc.weights_desc()},
                     {DNNL_ARG_DST, desc.dst_desc()},
                     {DNNL_ARG_BIAS, desc.bias_desc()}});
  };
  return {{s.plain(s.x), desc.src_desc(), false},
          {s.plain(s.w), desc.weights_desc(), false},
          {s.plain(s.y), desc.dst_desc(), true},
          make()};
}

ConvolutionPlan input_plan(const Sizes& s) {
  const dnnl::convolution_backward_data::primitive_desc desc(
      {s.algorithm(), s.any(s.x), s.any(s.w), s.any(s.y), s.strides(), s.paddings(), s.paddings()},
      onednn::attributes(), onednn::engine(), forward_desc(s));
  return {{s.plain(s.y), desc.diff_dst_desc(), false},
          {s.plain(s.w), desc.weights_desc(), false},
          {s.plain(s.x), desc.diff_src_desc(), true},
          Prepared(dnnl::convolution_backward_data(desc), desc.scratchpad_desc(),
                   {{DNNL_ARG_DIFF_DST, desc.diff_dst_desc()},
                    {DNNL_ARG_WEIGHTS, desc.weights_desc()},
                    {DNNL_ARG_DIFF_SRC, desc.diff_src_desc()}})};
}

// The gradient of the weights is in 4-byte floats, whatever the operands' format.
ConvolutionPlan weight_plan(const Sizes& s) {
  Sizes floats = s;
  floats.type = DType::F32;
  const dnnl::convolution_backward_weights::primitive_desc desc(
      {s.algorithm(), s.any(s.x), floats.any(s.w), s.any(s.y), s.strides(), s.paddings(),
       s.paddings()},
      onednn::attributes(), onednn::engine(), forward_desc(s));
  return {{s.plain(s.x), desc.src_desc(), false},
          {s.plain(s.y), desc.diff_dst_desc(), false},
          {floats.plain(s.w), desc.diff_weights_desc(), true},
          Prepared(dnnl::convolution_backward_weights(desc), desc.scratchpad_desc(),
                   {{DNNL_ARG_SRC, desc.src_desc()},
                    {DNNL_ARG_DIFF_DST, desc.diff_dst_desc()},
                    {DNNL_ARG_DIFF_WEIGHTS, desc.diff_weights_desc()}})};
}

// A variant that this processor does not have goes the usual way.
const ConvolutionPlan& plan(Sizes s, std::int64_t pass, ConvolutionPlan (*make)(const Sizes&),
                            const VariantChooser* chooser) {
  s.choose(pass, chooser);
  return onednn::kept<ConvolutionPlan>(s.key(pass), [&] {
    try {
      return make(s);
    } catch (const dnnl::error& error) {
      if (s.variant != kConvolutionWinograd || error.status != dnnl_unimplemented) throw;
      s.variant = s.usual(pass);
      return make(s);
    }
  });
}

const void* in_format(const TensorView& v, DType type, Scratch& scratch) {
  if (v.type == type) return v.data;
  const std::int64_t count = v.elements();
  float* floats = scratch.floats(count);
  to_floats(v.data, v.type, floats, count);
  if (type == DType::F32) return floats;
  void* made = scratch.take(static_cast<std::size_t>(count) * 2);
  from_floats(floats, made, type, count);
  return made;
}

void convolution_forward(const KernelCall& call) {
  const TensorView &x = input(call, 0), &w = input(call, 1), &y = output(call);
  Sizes s = sizes(call, x, w, y);
  s.bias = call.node.inputs.size() == 3;
  const void* bias = s.bias ? in_format(input(call, 2), DType::F32, call.scratch) : nullptr;
  void* out = y.type == s.type ? y.data : call.scratch.floats(y.elements());
  plan(s, 0, forward_plan, call.variants)
      .run(in_format(x, s.type, call.scratch), in_format(w, s.type, call.scratch), bias, out,
           call.scratch);
  if (out != y.data) from_floats(static_cast<const float*>(out), y.data, y.type, y.elements());
}

void convolution_backward_input(const KernelCall& call) {
  const Target dx = target(call, 0);
  if (!dx) return;
  const TensorView &w = input(call, 1), &dy = output_gradient(call);
  const Sizes s = sizes(call, dx.view, w, dy);
  const std::int64_t count = dx.view.elements();
  const bool direct = !dx.add && dx.view.type == s.type;
  void* out =
      direct ? dx.view.data : call.scratch.take(static_cast<std::size_t>(count * bytes_of(s.type)));
  plan(s, 1, input_plan, call.variants)
      .run(in_format(dy, s.type, call.scratch), in_format(w, s.type, call.scratch), nullptr, out,
           call.scratch);
  if (!direct) put_sum(out, s.type, dx.view, dx.add, call.scratch);
}

void convolution_backward_weight(const KernelCall& call) {
  const TensorView& dy = output_gradient(call);
  if (const Target dw = target(call, 1)) {
    const TensorView& x = input(call, 0);
    const Sizes s = sizes(call, x, dw.view, dy);
    float* out = call.scratch.floats(dw.view.elements());
    plan(s, 2, weight_plan, call.variants)
        .run(in_format(x, s.type, call.scratch), in_format(dy, s.type, call.scratch), nullptr, out,
             call.scratch);
    put_sum(out, DType::F32, dw.view, true, call.scratch);
  }
  if (const Target db = target(call, 2)) {
    const std::int64_t channels = dy.size[1], image = dy.size[2] * dy.size[3];
    const auto* floats = static_cast<const float*>(in_format(dy, DType::F32, call.scratch));
    float* sums = call.scratch.floats(channels);
    for (std::int64_t c = 0; c < channels; ++c) {
      double sum = 0;
      for (std::int64_t b = 0; b < dy.size[0]; ++b)
        sum += static_cast<double>(total_of(image, floats + (b * channels + c) * image));
      sums[c] = static_cast<float>(sum);
    }
    put_sum(sums, DType::F32, db.view, true, call.scratch);
  }
}

}  // namespace

void run_convolution(const KernelShape& shape, const VariantChooser& chooser, const float* first,
                     const float* second, float* out, Scratch& scratch) {
  const auto& of = shape.sizes;
  Sizes s;
  s.x = {of[1], of[2], of[3], of[4]}, s.w = {of[5], of[2], of[8], of[8]};
  s.y = {of[1], of[5], of[6], of[7]};
  s.stride = of[9], s.padding = s.above = of[10], s.groups = 1, s.type = DType::F32, s.bias = false;
  constexpr decltype(&forward_plan) kMake[] = {forward_plan, input_plan, weight_plan};
  plan(s, of[0], kMake[of[0]], &chooser).run(first, second, nullptr, out, scratch);
}

CpuKernel convolution_kernel() {
  CpuKernel made{convolution_forward, convolution_backward_input, convolution_backward_weight};
  made.sixteen_bit = true;
  return made;
}

}  // namespace trainyard

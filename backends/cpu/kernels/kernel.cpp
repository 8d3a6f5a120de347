#include "backends/cpu/kernels/kernel.h"

#include <algorithm>
#include <string>
#include <vector>

#include "backends/cpu/kernels/convert.h"
#include "backends/cpu/kernels/flush_subnormals.h"
#include "backends/cpu/kernels/one_thread.h"
#include "core/base/error.h"
#include "core/timeline/span_recorder.h"

namespace trainyard {
namespace {

bool sixteen_bits(DType type) { return type == DType::BF16 || type == DType::F16; }

// Converts operands that the kernel does not take directly, and writes its results back.
class Conversion {
 public:
  Conversion(const KernelCall& call, const CpuKernel& kernel) : call_(call), kernel_(kernel) {}

  static bool needed(const KernelCall& call, const CpuKernel& kernel) {
    const auto differs = [&](DType t) {
      return t == DType::F16 || (t == DType::BF16 && !kernel.sixteen_bit);
    };
    const auto any = [&](const auto& list) {
      return std::any_of(list.begin(), list.end(),
                         [&](const auto& v) { return v.data != nullptr && differs(v.type); });
    };
    return any(call.inputs) || any(call.outputs) || any(call.output_gradients) ||
           any(call.input_gradients) || any(call.weight_gradients) || any(call.facts);
  }

  void run(KernelFunction function, bool forward) {
    KernelCall inner = call_;
    const std::vector<TensorView> in = views(call_.inputs, true, false);
    const std::vector<TensorView> out = views(call_.outputs, !forward, forward);
    const std::vector<TensorView> dy = views(call_.output_gradients, true, false);
    const std::vector<TensorView> dw = views(call_.weight_gradients, true, true);
    std::vector<TensorView> dx(call_.input_gradients.begin(), call_.input_gradients.end());
    for (std::size_t i = 0; i < dx.size(); ++i)
      replace(dx[i].data, dx[i].type, dx[i].elements(), i < call_.adds.size() && call_.adds[i] != 0,
              true);
    std::vector<FactView> facts(call_.facts.begin(), call_.facts.end());
    for (FactView& f : facts) {
      if (f.data == nullptr || !converts(f.type)) continue;
      const std::int64_t count = f.bytes.value / bytes_of(f.type);
      replace(f.data, f.type, count, !forward, forward);
      f.bytes = Bytes{count * bytes_of(f.type)};
    }
    inner.inputs = in, inner.outputs = out, inner.output_gradients = dy;
    inner.input_gradients = dx, inner.weight_gradients = dw, inner.facts = facts;
    function(inner);
    for (const Written& w : written_) from_floats(w.floats, w.data, w.type, w.count);
  }

 private:
  struct Written {
    const float* floats;
    void* data;
    DType type;
    std::int64_t count;
  };

  bool converts(DType type) const {
    return sixteen_bits(type) && !(type == DType::BF16 && kernel_.sixteen_bit);
  }

  void replace(void*& data, DType& type, std::int64_t count, bool read, bool write) {
    if (data == nullptr || !converts(type)) return;
    float* floats = call_.scratch.floats(count);
    if (read) to_floats(data, type, floats, count);
    if (write) written_.push_back({floats, data, type, count});
    data = floats;
    type = DType::F32;
  }

  std::vector<TensorView> views(std::span<const TensorView> list, bool read, bool write) {
    std::vector<TensorView> made(list.begin(), list.end());
    for (TensorView& v : made) replace(v.data, v.type, v.elements(), read, write);
    return made;
  }

  const KernelCall& call_;
  const CpuKernel& kernel_;
  std::vector<Written> written_;
};

}  // namespace

std::int64_t TensorView::elements() const {
  std::int64_t count = 1;
  for (int i = 0; i < rank; ++i) count *= size[static_cast<std::size_t>(i)];
  return count;
}

std::string KernelCall::name() const { return node.name + " (" + std::string(node.op->name) + ")"; }

const FactView* KernelCall::fact(std::string_view what) const {
  for (const FactView& f : facts)
    if (f.what == what && f.data != nullptr) return &f;
  return nullptr;
}

KernelFunction CpuKernel::of(Pass pass) const {
  return pass == Pass::Forward         ? forward
         : pass == Pass::BackwardInput ? backward_input
                                       : backward_weight;
}

void run_kernel(const KernelCall& call, Pass pass) {
  const CpuKernel& kernel = cpu_kernel(*call.node.op);
  const KernelFunction function = kernel.of(pass);
  if (function == nullptr) return;
  stay_on_one_thread();
  const FlushSubnormals flush;
  const Scratch::Frame frame(call.scratch);
  const RecordedSpan span(SpanLevel::Kernel, call.node.op->name);
  if (Conversion::needed(call, kernel))
    Conversion(call, kernel).run(function, pass == Pass::Forward);
  else
    function(call);
}

}  // namespace trainyard

// Runs an op's reference maths on operands of the CPU backend, for ops without a fast kernel.
#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "backends/cpu/kernels/convert.h"
#include "backends/cpu/kernels/kernels.h"
#include "backends/cpu/kernels/operands.h"
#include "core/model/reference.h"

namespace trainyard {
namespace {

// Reads the elements as doubles, converting integer formats.
std::vector<double> numbers(const void* data, DType type, std::int64_t count) {
  std::vector<double> made(static_cast<std::size_t>(count));
  if (type == DType::I64)
    std::copy_n(static_cast<const std::int64_t*>(data), count, made.begin());
  else if (type == DType::Bool)
    std::copy_n(static_cast<const std::uint8_t*>(data), count, made.begin());
  else {
    std::vector<float> floats(made.size());
    to_floats(data, type, floats.data(), count);
    std::copy(floats.begin(), floats.end(), made.begin());
  }
  return made;
}

void write(const std::vector<double>& values, void* data, DType type) {
  if (type == DType::I64)
    std::transform(values.begin(), values.end(), static_cast<std::int64_t*>(data),
                   [](double v) { return static_cast<std::int64_t>(v); });
  else if (type == DType::Bool)
    std::transform(values.begin(), values.end(), static_cast<std::uint8_t*>(data),
                   [](double v) { return static_cast<std::uint8_t>(v != 0); });
  else {
    const std::vector<float> floats(values.begin(), values.end());
    from_floats(floats.data(), data, type, static_cast<std::int64_t>(floats.size()));
  }
}

std::vector<double> transposed(const std::vector<double>& values, const TensorView& v, bool back) {
  const auto rows = static_cast<std::size_t>(v.size[0]),
             columns = static_cast<std::size_t>(v.size[1]);
  std::vector<double> turned(values.size());
  for (std::size_t r = 0; r < rows; ++r)
    for (std::size_t c = 0; c < columns; ++c) {
      const std::size_t straight = r * columns + c, across = c * rows + r;
      turned[back ? across : straight] = values[back ? straight : across];
    }
  return turned;
}

std::vector<std::int64_t> shape(const TensorView& v) {
  return {v.size.begin(), v.size.begin() + v.rank};
}

HostTensor host_tensor(const TensorView& v) {
  HostTensor made{shape(v), numbers(v.data, v.type, v.elements())};
  if (v.transposed) made.values = transposed(made.values, v, false);
  return made;
}

void expect_elements(const KernelCall& call, const HostTensor& made, const TensorView& place,
                     const char* what) {
  if (static_cast<std::int64_t>(made.values.size()) != place.elements())
    throw Error(Error::Kind::Internal,
                call.name() + ": its " + what + " has " + std::to_string(made.values.size()) +
                    " elements, and room for " + std::to_string(place.elements()));
}

void add_to(const KernelCall& call, const HostTensor& part, const TensorView& sum, bool add) {
  expect_elements(call, part, sum, "gradient");
  HostTensor total = part;
  if (add) {
    total = host_tensor(sum);
    for (std::size_t i = 0; i < part.values.size(); ++i) total.values[i] += part.values[i];
  }
  write(sum.transposed ? transposed(total.values, sum, true) : total.values, sum.data, sum.type);
}

// The call with operands in doubles. Facts have no shape of their own: those with as many elements
// as the input take its shape, others are one row.
struct Converted {
  std::vector<HostTensor> inputs, outputs, gradients;
  std::vector<const HostTensor*> input_list, output_list, gradient_list;
  std::vector<KeptFact> kept;
  ReferenceCall call;

  explicit Converted(const KernelCall& c, bool backward)
      : call{c.graph, c.node, c.binding, c.random, {}, {}, {}, {}, c.flash_attention, c.documents} {
    convert(c.inputs, inputs, input_list);
    if (backward) convert(c.outputs, outputs, output_list);
    convert(c.output_gradients, gradients, gradient_list);
    const std::vector<std::int64_t> first = local_shape(c.graph[c.node.inputs[0]], c.binding);
    const std::size_t elements = zeros(first).values.size();
    if (backward)
      for (const FactView& f : c.facts) {
        if (f.data == nullptr) continue;
        const std::int64_t count = f.bytes.value / bytes_of(f.type);
        HostTensor made{{count}, numbers(f.data, f.type, count)};
        if (made.values.size() == elements) made.shape = first;
        kept.push_back({f.what, std::move(made)});
      }
    call.inputs = input_list, call.outputs = output_list, call.gradients = gradient_list;
    call.kept = kept;
  }

  static void convert(std::span<const TensorView> views, std::vector<HostTensor>& tensors,
                      std::vector<const HostTensor*>& list) {
    tensors.reserve(views.size());
    for (const TensorView& v : views) {
      tensors.push_back(v.there() ? host_tensor(v) : HostTensor{});
      list.push_back(v.there() ? &tensors.back() : nullptr);
    }
  }
};

void reference_forward(const KernelCall& call) {
  const Converted converted(call, false);
  const ReferenceResult result = reference(*call.node.op).forward(converted.call);
  for (std::size_t i = 0; i < result.outputs.size(); ++i) {
    const TensorView& place = output(call, i);
    expect_elements(call, result.outputs[i], place, "output");
    write(result.outputs[i].values, place.data, place.type);
  }
  for (const KeptFact& k : result.kept)
    if (const FactView* place = call.fact(k.what)) write(k.tensor.values, place->data, place->type);
}

void add_gradients(const KernelCall& call, const std::vector<HostTensor>& parts) {
  for (std::size_t i = 0; i < parts.size(); ++i)
    if (const Target t = target(call, i); t && !parts[i].values.empty())
      add_to(call, parts[i], t.view, t.add);
}

void reference_backward_input(const KernelCall& call) {
  add_gradients(call, reference(*call.node.op).backward_input(Converted(call, true).call));
}
void reference_backward_weight(const KernelCall& call) {
  add_gradients(call, reference(*call.node.op).backward_weight(Converted(call, true).call));
}

}  // namespace

CpuKernel reference_kernel(const Op& op) {
  const Reference& maths = reference(op);
  CpuKernel made{reference_forward,
                 maths.backward_input != nullptr ? reference_backward_input : nullptr,
                 maths.backward_weight != nullptr ? reference_backward_weight : nullptr};
  made.sixteen_bit = made.reference = true;
  return made;
}

}  // namespace trainyard

// Convolves with a weight of which only stored blocks are not zero: it is decoded into scratch, and
// the dense kernel does the rest. The gradient of the dense weight is in scratch too, and what
// stands at the stored places is added to theirs.
#include <algorithm>
#include <cstring>
#include <vector>

#include "backends/cpu/kernels/convert.h"
#include "backends/cpu/kernels/kernels.h"
#include "backends/cpu/kernels/operands.h"
#include "backends/cpu/kernels/sums.h"
#include "core/model/ops.h"
#include "core/model/sparse_pattern.h"

namespace trainyard {
namespace {

// The call of the dense kernel, but for its weight, and where the stored weights lie in that.
struct DenseConvolution {
  explicit DenseConvolution(const KernelCall& sparse)
      : graph(dense_graph(sparse.graph, sparse.node)),
        shape(sparse_weight_of(sparse.graph, sparse.node)->shape),
        call{.graph = graph,
             .node = graph.nodes[0],
             .binding = sparse.binding,
             .scratch = sparse.scratch} {
    call.outputs = sparse.outputs;
    call.output_gradients = sparse.output_gradients;
    call.adds = sparse.adds.first(std::min<std::size_t>(1, sparse.adds.size()));
    call.input_gradients =
        sparse.input_gradients.first(std::min<std::size_t>(1, sparse.input_gradients.size()));
    call.variants = sparse.variants;
    const TensorView& pattern = input(sparse, 2);
    std::vector<float> numbers(static_cast<std::size_t>(pattern.elements()));
    to_floats(pattern.data, pattern.type, numbers.data(), pattern.elements());
    places = places_of(shape, numbers);
  }
  DenseConvolution(const DenseConvolution&) = delete;
  DenseConvolution& operator=(const DenseConvolution&) = delete;

  // Zeros of the whole weight's shape.
  TensorView weight(DType type) const {
    TensorView view;
    const Shape& dims = graph[graph.nodes[0].inputs[1]].shape;
    view.type = type, view.rank = static_cast<int>(dims.size());
    for (std::size_t d = 0; d < dims.size(); ++d) view.size[d] = dims[d].size;
    const auto bytes = static_cast<std::size_t>(view.bytes().value);
    view.data = call.scratch.take(bytes);
    std::memset(view.data, 0, bytes);
    return view;
  }

  // Calls f(dense, stored) with the byte at which each stored block begins in either.
  template <class F>
  void each_block(std::int64_t bytes_of_element, F f) const {
    const std::int64_t bytes = shape.block * bytes_of_element;
    for (std::size_t i = 0; i < places.size(); ++i)
      f(places[i] * bytes, static_cast<std::int64_t>(i) * bytes, static_cast<std::size_t>(bytes));
  }

  Graph graph;
  SparseShape shape;
  KernelCall call;
  std::vector<std::int64_t> places;  // of blocks
};

// For a forward or the gradient of the images.
void convolve(const KernelCall& sparse, Pass pass) {
  const Scratch::Frame frame(sparse.scratch);
  DenseConvolution dense(sparse);
  const TensorView& values = input(sparse, 1);
  std::vector<TensorView> inputs(sparse.inputs.begin(), sparse.inputs.end());
  inputs.erase(inputs.begin() + 2);
  inputs[1] = dense.weight(values.type);
  dense.each_block(bytes_of(values.type),
                   [&](std::int64_t to, std::int64_t from, std::size_t bytes) {
                     std::memcpy(static_cast<std::byte*>(inputs[1].data) + to,
                                 static_cast<const std::byte*>(values.data) + from, bytes);
                   });
  dense.call.inputs = inputs;
  cpu_kernel(convolution()).of(pass)(dense.call);
}

void sparse_convolution_forward(const KernelCall& call) { convolve(call, Pass::Forward); }
void sparse_convolution_backward_input(const KernelCall& call) {
  if (target(call, 0)) convolve(call, Pass::BackwardInput);
}

void sparse_convolution_backward_weight(const KernelCall& sparse) {
  const Scratch::Frame frame(sparse.scratch);
  DenseConvolution dense(sparse);
  const Target values = target(sparse, 1), bias = target(sparse, 3);
  std::vector<TensorView> gradients(3);
  if (values) gradients[1] = dense.weight(DType::F32);
  if (bias) gradients[2] = bias.view;
  dense.call.inputs = sparse.inputs.first(1);
  dense.call.weight_gradients = gradients;
  cpu_kernel(convolution()).backward_weight(dense.call);
  if (!values) return;
  float* const gathered = sparse.scratch.floats(dense.shape.room());
  if (dense.shape.spare > 0) std::fill_n(gathered, dense.shape.room(), 0.0F);
  dense.each_block(bytes_of(DType::F32), [&](std::int64_t from, std::int64_t to, std::size_t n) {
    std::memcpy(reinterpret_cast<std::byte*>(gathered) + to,
                static_cast<const std::byte*>(gradients[1].data) + from, n);
  });
  put_sum(gathered, DType::F32, values.view, true, sparse.scratch);
}

}  // namespace

CpuKernel sparse_convolution_kernel() {
  CpuKernel made{sparse_convolution_forward, sparse_convolution_backward_input,
                 sparse_convolution_backward_weight};
  made.sixteen_bit = true;
  return made;
}

}  // namespace trainyard

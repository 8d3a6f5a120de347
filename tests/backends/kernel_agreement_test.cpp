// Implements the harness of kernel_agreement.h, and tests the kernels of product-like ops and what
// run_kernel() does around them.
#include "tests/backends/kernel_agreement.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <thread>

#include "backends/cpu/kernels/convert.h"
#include "core/base/error.h"
#include "core/model/ops.h"
#include "core/model/reference.h"
#include "tests/support/non_empty.h"

namespace trainyard {
namespace testing {
namespace {

// Memory of exactly the tensor's size, filled with NaN bytes.
struct Held {
  std::vector<std::byte> bytes;
  TensorView view;

  Held() = default;
  Held(const std::vector<std::int64_t>& shape, DType type, bool transposed = false) {
    view.type = type;
    view.transposed = transposed;
    view.rank = static_cast<int>(shape.size());
    std::copy(shape.begin(), shape.end(), view.size.begin());
    bytes.assign(static_cast<std::size_t>(view.bytes().value), std::byte{0xff});
    view.data = bytes.data();
  }
};

void put(const std::vector<double>& values, void* data, DType type) {
  const auto n = static_cast<std::int64_t>(values.size());
  if (type == DType::I64) {
    std::copy(values.begin(), values.end(), static_cast<std::int64_t*>(data));
    return;
  }
  const std::vector<float> floats(values.begin(), values.end());
  from_floats(floats.data(), data, type, n);
}

// The index of element e of a tensor that is stored transposed.
std::size_t across(const TensorView& v, std::size_t e) {
  const auto rows = static_cast<std::size_t>(v.size[0]),
             columns = static_cast<std::size_t>(v.size[1]);
  return e % columns * rows + e / columns;
}

HostTensor get(const TensorView& v) {
  HostTensor made = zeros({v.size.begin(), v.size.begin() + v.rank});
  if (v.type == DType::I64) {
    std::copy_n(v.i64(), v.elements(), made.values.begin());
    return made;
  }
  std::vector<float> floats(made.values.size());
  to_floats(v.data, v.type, floats.data(), v.elements());
  for (std::size_t e = 0; e < floats.size(); ++e)
    made.values[e] = floats[v.transposed ? across(v, e) : e];
  return made;
}

std::vector<double> random_values(const TensorView& v, const Random& random) {
  std::vector<double> values(static_cast<std::size_t>(v.elements()));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = 2 * random.uniform(i) - 1;
  return values;
}

DType fact_type(std::string_view what, DType activations) {
  if (what == "mask") return DType::Bool;
  if (what == "indices") return DType::I64;
  if (what == "scores" || what == "dropped scores") return activations;
  return DType::F32;
}

// One call of the op, with two sets of operands, for the kernel and for the reference.
class Subject {
 public:
  Subject(const Op& op, const KernelCase& c, DType type, double tolerance, std::uint64_t seed)
      : random_(seed),
        tolerance_(tolerance),
        flash_(c.flash_attention),
        transposed_weights_(c.transposed_weights),
        documents_(c.documents) {
    precision_.parameter = precision_.activation = type;
    precision_.gradient = type == DType::BF16 && random_.between(0, 0, 1) == 1 ? type : DType::F32;
    std::vector<TensorId> ids;
    for (std::size_t i = 0; i < c.inputs.size(); ++i) {
      Tensor t = c.inputs[i];
      t.name = "input " + std::to_string(i);
      ids.push_back(graph_.add(std::move(t)));
    }
    graph_.add("subject", op, ids, c.attributes);
    for (std::size_t i = 0; i < ids.size(); ++i) {
      inputs_.push_back(make(ids[i]));
      std::vector<double> values = random_values(inputs_[i].view, Random(seed, i + 1));
      if (graph_[ids[i]].kind == TensorKind::Index)
        for (std::size_t e = 0; e < values.size(); ++e)
          values[e] =
              is_padding(e)
                  ? static_cast<double>(kPaddingLabel)
                  : static_cast<double>(Random(seed, i + 1).between(e, 0, c.index_below - 1));
      put(values, inputs_[i].view.data, inputs_[i].view.type);
      expected_inputs_.push_back(get(inputs_[i].view));
    }
    for (std::int64_t copy = 0; copy < c.copies; ++copy)
      routing_.chosen.push_back(static_cast<std::int32_t>(
          Random(seed, 99).between(static_cast<std::uint64_t>(copy), 0, c.experts - 1)));
    routing_.held = routing_.chosen;
    for (HostTensor& t : expected_inputs_) t.experts = routing_.chosen;
    for (TensorId id : node().outputs) outputs_.push_back(make(id));
    for (const Saved& s : saved()) {
      if (s.tensor.valid()) continue;
      fact_bytes_.emplace_back(static_cast<std::size_t>(s.bytes.value), std::byte{0xff});
      facts_.push_back({s.what, fact_bytes_.back().data(), fact_type(s.what, type), s.bytes});
    }
  }

  void choose_by(const VariantChooser* variants) { variants_ = variants; }

  void forward() {
    std::vector<TensorView> out = views(outputs_);
    KernelCall call = kernel_call();
    const std::vector<TensorView> in = views(inputs_);
    call.inputs = in, call.outputs = out, call.facts = facts_;
    run_kernel(call, Pass::Forward);
    const std::vector<Held> first = outputs_;
    run_kernel(call, Pass::Forward);
    std::vector<const HostTensor*> list = pointers(expected_inputs_);
    ReferenceCall maths = reference_call();
    maths.inputs = list;
    ReferenceResult result = reference(*node().op).forward(maths);
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
      EXPECT_EQ(first[i].bytes, outputs_[i].bytes) << "run twice";
      EXPECT_EQ(result.outputs[i].experts, routing_.chosen);
      compare(result.outputs[i], outputs_[i].view, "output " + std::to_string(i));
      Held rounded = outputs_[i];
      rounded.view.data = rounded.bytes.data();
      put(result.outputs[i].values, rounded.view.data, rounded.view.type);
      expected_outputs_.push_back(get(rounded.view));
    }
    kept_ = std::move(result.kept);
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
      gradients_.push_back(make(node().outputs[i]));
      put(random_values(gradients_[i].view, Random(random_.bits(1), i)), gradients_[i].view.data,
          gradients_[i].view.type);
      expected_gradients_.push_back(get(gradients_[i].view));
    }
  }

  void backward(Pass pass) {
    SCOPED_TRACE(pass == Pass::BackwardInput ? "backward input" : "backward weight");
    const Reference& maths = reference(*node().op);
    const auto function =
        pass == Pass::BackwardInput ? maths.backward_input : maths.backward_weight;
    std::vector<HostTensor> parts;
    if (function != nullptr) {
      const std::vector<const HostTensor*> in = pointers(expected_inputs_),
                                           out = pointers(expected_outputs_),
                                           dy = pointers(expected_gradients_);
      ReferenceCall call = reference_call();
      call.inputs = in, call.outputs = out, call.gradients = dy, call.kept = kept_;
      parts = function(call);
    }
    parts.resize(inputs_.size());

    std::vector<Held> targets(inputs_.size());
    std::vector<HostTensor> expected(inputs_.size());
    std::vector<TensorView> input_gradients(inputs_.size()), weight_gradients(inputs_.size());
    std::vector<std::uint8_t> adds(inputs_.size());
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      const Tensor& tensor = graph_[node().inputs[i]];
      const bool weight = tensor.kind == TensorKind::Parameter;
      if (tensor.kind == TensorKind::Index || (!weight && pass == Pass::BackwardWeight)) continue;
      if (random_.between(next_++, 0, 7) == 0) continue;  // not wanted
      if (!weight && parts[i].values.empty()) continue;
      targets[i] =
          Held(local_shape(tensor, binding_), weight ? precision_.gradient : precision_.activation);
      const TensorView& v = targets[i].view;
      expected[i] = zeros(parts[i].shape.empty() ? local_shape(tensor, binding_) : parts[i].shape);
      adds[i] = weight || random_.between(next_++, 0, 1) == 1 ? 1 : 0;
      if (adds[i] != 0) {
        put(random_values(v, Random(random_.bits(next_++))), v.data, v.type);
        expected[i] = get(v);
      }
      for (std::size_t e = 0; e < parts[i].values.size(); ++e)
        expected[i].values[e] += parts[i].values[e];
      (weight ? weight_gradients : input_gradients)[i] = v;
      if (weight) adds[i] = 0;
    }

    KernelCall call = kernel_call();
    const std::vector<TensorView> in = in_reach(inputs_, node().inputs, pass),
                                  out = in_reach(outputs_, node().outputs, pass),
                                  dy = views(gradients_);
    std::vector<FactView> facts;
    for (const FactView& f : facts_)
      for (const Saved& s : saved())
        if (!s.tensor.valid() && s.what == f.what && (pass == Pass::BackwardInput || s.for_weight))
          facts.push_back(f);
    call.inputs = in, call.outputs = out, call.output_gradients = dy, call.facts = facts;
    call.input_gradients = input_gradients, call.weight_gradients = weight_gradients;
    call.adds = adds;
    run_kernel(call, pass);
    for (std::size_t i = 0; i < inputs_.size(); ++i)
      if (targets[i].view.there())
        compare(expected[i], targets[i].view, "gradient of input " + std::to_string(i));
  }

 private:
  const Node& node() const { return graph_.nodes[0]; }
  // Returns whether an element of [sequence, batch] is in no document.
  bool is_padding(std::size_t element) const {
    if (documents_.sequence == 0) return false;
    const auto samples = static_cast<std::int64_t>(documents_.begins.size()) / documents_.sequence;
    const auto e = static_cast<std::int64_t>(element);
    return documents_.begin(e % samples, e / samples) == documents_.end(e % samples, e / samples);
  }
  std::vector<Saved> saved() const {
    return node().op->saved({graph_, node(), binding_, precision_, flash_});
  }
  Held make(TensorId id) const {
    const Tensor& t = graph_[id];
    DType type = precision_.activation;
    if (t.kind == TensorKind::Index) type = DType::I64;
    if (t.kind == TensorKind::Statistic) type = DType::F32;
    return Held(local_shape(t, binding_), type, transposed(t));
  }
  bool transposed(const Tensor& t) const {
    return transposed_weights_ && t.kind == TensorKind::Parameter && t.shape.size() == 2;
  }
  static std::vector<TensorView> views(const std::vector<Held>& list) {
    std::vector<TensorView> made;
    for (const Held& h : list) {
      made.push_back(h.view);
      made.back().data = const_cast<std::byte*>(h.bytes.data());
    }
    return made;
  }
  static std::vector<const HostTensor*> pointers(const std::vector<HostTensor>& list) {
    std::vector<const HostTensor*> made;
    for (const HostTensor& t : list) made.push_back(&t);
    return made;
  }
  std::vector<TensorView> in_reach(const std::vector<Held>& list, const std::vector<TensorId>& ids,
                                   Pass pass) const {
    std::vector<TensorView> made = views(list);
    const std::vector<Saved> kept = saved();
    for (std::size_t i = 0; i < made.size(); ++i) {
      const bool reached =
          graph_[ids[i]].kind == TensorKind::Parameter ||
          std::any_of(kept.begin(), kept.end(), [&](const Saved& s) {
            return s.tensor == ids[i] && (pass == Pass::BackwardInput || s.for_weight);
          });
      if (!reached) made[i].data = nullptr;
    }
    return made;
  }
  KernelCall kernel_call() {
    KernelCall call{.graph = graph_, .node = node(), .binding = binding_, .scratch = scratch_};
    call.flash_attention = flash_;
    call.random = Random(random_.bits(0), 3);
    call.routing = &routing_;
    if (documents_.sequence > 0) call.documents = &documents_;
    call.variants = variants_;
    return call;
  }
  ReferenceCall reference_call() const {
    ReferenceCall call{.graph = graph_, .node = node(), .binding = binding_};
    call.flash_attention = flash_;
    call.random = Random(random_.bits(0), 3);
    if (documents_.sequence > 0) call.documents = &documents_;
    return call;
  }

  void compare(const HostTensor& expected, const TensorView& found, const std::string& what) const {
    const HostTensor values = get(found);
    ASSERT_EQ(expected.values.size(), values.values.size()) << what;
    // Operands are at most 1, so a tensor of zeros may differ by the rounding of such numbers.
    double largest = 1e-2;
    for (double v : expected.values) largest = std::max(largest, std::abs(v));
    for (std::size_t e = 0; e < values.values.size(); ++e)
      ASSERT_NEAR(expected.values[e], values.values[e], tolerance_ * largest)
          << what << ", element " << e << " of " << to_text(graph_[node().inputs[0]].shape);
  }

  Graph graph_;
  Binding binding_;
  Precision precision_;
  Random random_;
  double tolerance_;
  bool flash_, transposed_weights_;
  DocumentBounds documents_;
  std::uint64_t next_ = 100;
  Scratch scratch_;
  std::vector<Held> inputs_, outputs_, gradients_;
  std::vector<HostTensor> expected_inputs_, expected_outputs_, expected_gradients_;
  std::vector<std::vector<std::byte>> fact_bytes_;
  std::vector<FactView> facts_;
  std::vector<KeptFact> kept_;
  Routing routing_;
  const VariantChooser* variants_ = nullptr;
};

}  // namespace

void expect_agreement(const Op& op, const std::function<KernelCase(Draw&)>& make,
                      const Agreement& a) {
  ASSERT_FALSE(cpu_kernel(op).reference) << op.name << " has no fast kernel";
  const auto run = [&](DType type, int cases, double tolerance) {
    for (int i = 0; i < cases && !::testing::Test::HasFailure(); ++i) {
      SCOPED_TRACE(std::string(op.name) + " in " + std::string(to_string(type)) + ", case " +
                   std::to_string(i));
      Draw draw(static_cast<std::uint64_t>(i));
      Subject subject(op, make(draw), type, tolerance, static_cast<std::uint64_t>(i));
      subject.choose_by(a.variants);
      subject.forward();
      subject.backward(Pass::BackwardInput);
      subject.backward(Pass::BackwardWeight);
    }
  };
  run(DType::F32, a.cases, a.tolerance);
  if (!a.sixteen_bit) return;
  run(DType::BF16, a.cases / 4, a.sixteen_bit_tolerance);
  run(DType::F16, a.cases / 4, a.sixteen_bit_tolerance);
}

}  // namespace testing

namespace {

using testing::activation;
using testing::Draw;
using testing::expect_agreement;
using testing::indices;
using testing::KernelCase;
using testing::parameter;
using testing::sizes;

KernelCase matmul_case(Draw& d) {
  const std::int64_t k = d.between(1, 40), n = d.between(1, 40);
  KernelCase c;
  Shape x = d.coin() ? sizes({d.between(1, 9), d.between(1, 7), k}) : sizes({d.between(1, 33), k});
  c.inputs = {activation(x), parameter(sizes({k, n}))};
  if (d.coin()) c.inputs.push_back(parameter(sizes({n})));
  c.transposed_weights = d.between(0, 3) == 0;
  return c;
}

KernelCase convolution_case(Draw& d) {
  const std::int64_t groups = d.one_of<std::int64_t>({1, 1, 1, 2, 4});
  const std::int64_t in = groups * d.between(1, 4), out = groups * d.between(1, 4);
  const std::int64_t kernel = d.between(1, 3);
  KernelCase c;
  c.inputs = {activation(sizes({d.between(1, 3), in, d.between(3, 8), d.between(3, 8)})),
              parameter(sizes({out, in / groups, kernel, kernel}))};
  if (d.coin()) c.inputs.push_back(parameter(sizes({out})));
  c.attributes = {{"groups", groups}, {"stride", d.between(1, 2)}, {"padding", d.between(0, 1)}};
  return c;
}

KernelCase batch_norm_case(Draw& d) {
  const std::int64_t channels = d.between(1, 20);
  return {{activation(sizes({d.between(2, 4), channels, d.between(2, 6), d.between(2, 6)})),
           parameter(sizes({channels})), parameter(sizes({channels}))}};
}

KernelCase pooling_case(Draw& d) {
  KernelCase c;
  c.inputs = {
      activation(sizes({d.between(1, 3), d.between(1, 5), d.between(3, 9), d.between(3, 9)}))};
  const std::int64_t kernel = d.between(0, 3);
  c.attributes = {{"kernel", kernel}, {"average", d.between(0, 1)}};
  if (kernel > 0) c.attributes["stride"] = d.between(1, 3);
  if (kernel > 1 && d.coin()) c.attributes["padding"] = d.between(0, 1);
  return c;
}

Shape any_shape(Draw& d) { return sizes({d.between(1, 5), d.between(1, 6), d.between(1, 40)}); }

KernelCase unary_case(Draw& d) { return {{activation(any_shape(d))}}; }

KernelCase add_case(Draw& d) {
  const Shape a = any_shape(d);
  Shape b = a;
  for (Dim& dim : b)
    if (d.between(0, 3) == 0) dim = whole(1);
  return {{activation(a), d.coin() ? activation(b) : parameter(b)}};
}

KernelCase multiply_case(Draw& d) {
  const Shape shape = any_shape(d);
  return {{activation(shape), activation(shape)}};
}

KernelCase scale_case(Draw& d) {
  return {{activation(any_shape(d))},
          {{"numerator", d.between(1, 5)}, {"denominator", d.between(1, 5)}}};
}

KernelCase flatten_case(Draw& d) {
  return {
      {activation(sizes({d.between(1, 4), d.between(1, 5), d.between(1, 5), d.between(1, 5)}))}};
}

TEST(KernelAgreement, Matmul) { expect_agreement(matmul(), matmul_case); }
TEST(KernelAgreement, Convolution) { expect_agreement(convolution(), convolution_case); }
// Goes one way wherever it is there, and counts at how many shapes.
class OneWayChooser final : public VariantChooser {
 public:
  explicit OneWayChooser(int variant) : variant_(variant) {}
  int choose(const KernelShape& shape, int usual) const override {
    if (!has_variant(shape, variant_)) return usual;
    ++gone;
    return variant_;
  }
  mutable int gone = 0;

 private:
  int variant_;
};

// Sizes beyond a tile's, which end within one and at one.
KernelCase wide_matmul_case(Draw& d) {
  const std::int64_t k = d.between(1, 600), n = 16 * d.between(1, 20);
  KernelCase c;
  c.inputs = {activation(sizes({d.between(1, 130), k})), parameter(sizes({k, n}))};
  if (d.coin()) c.inputs.push_back(parameter(sizes({n})));
  c.transposed_weights = d.between(0, 3) == 0;
  return c;
}

KernelCase square_convolution_case(Draw& d) {
  KernelCase c;
  const std::int64_t in = d.between(1, 20), out = d.between(1, 20), size = d.between(3, 12);
  c.inputs = {activation(sizes({d.between(1, 3), in, size, size})),
              parameter(sizes({out, in, 3, 3}))};
  if (d.coin()) c.inputs.push_back(parameter(sizes({out})));
  c.attributes = {{"stride", 1}, {"padding", 1}};
  return c;
}

TEST(KernelAgreement, EveryWayOfAProduct) {
  for (const int variant : {kProductPrimitive, kProductGemm, kProductTiles}) {
    SCOPED_TRACE(variant_names(VariantKernel::Product)[static_cast<std::size_t>(variant)]);
    const OneWayChooser chooser(variant);
    testing::Agreement agreement{.cases = 40};
    agreement.variants = &chooser;
    expect_agreement(matmul(), matmul_case, agreement);
    expect_agreement(matmul(), wide_matmul_case, agreement);
    EXPECT_GT(chooser.gone, 50);
  }
}

TEST(KernelAgreement, EveryWayOfAConvolution) {
  for (const int variant : {kConvolutionBlocked, kConvolutionPlain, kConvolutionWinograd}) {
    SCOPED_TRACE(variant_names(VariantKernel::Convolution)[static_cast<std::size_t>(variant)]);
    const OneWayChooser chooser(variant);
    testing::Agreement agreement{.cases = 60};
    agreement.variants = &chooser;
    expect_agreement(convolution(), convolution_case, agreement);
    expect_agreement(convolution(), square_convolution_case, agreement);
    EXPECT_GT(chooser.gone, 50);
  }
}

TEST(KernelAgreement, BatchNorm) { expect_agreement(batch_norm(), batch_norm_case); }
TEST(KernelAgreement, Pooling) { expect_agreement(pooling(), pooling_case); }
TEST(KernelAgreement, Relu) { expect_agreement(relu(), unary_case); }
TEST(KernelAgreement, Tanh) { expect_agreement(tanh_op(), unary_case); }
TEST(KernelAgreement, Add) { expect_agreement(add(), add_case); }
TEST(KernelAgreement, Multiply) { expect_agreement(multiply(), multiply_case); }
TEST(KernelAgreement, Scale) { expect_agreement(scale(), scale_case); }
TEST(KernelAgreement, Flatten) { expect_agreement(flatten(), flatten_case); }

// --- run_kernel ---

TEST(RunKernel, AMissingOperandIsNamed) {
  Graph graph;
  Tensor x = activation(sizes({2, 2})), w = parameter(sizes({2, 2}));
  x.name = "x", w.name = "w";
  const TensorId x_id = graph.add(x), w_id = graph.add(w);
  graph.add("layer", relu(), {x_id});
  graph.add("product", matmul(), {x_id, w_id});
  Scratch scratch;
  const Binding binding;
  const KernelCall call{
      .graph = graph, .node = graph.nodes[0], .binding = binding, .scratch = scratch};
  try {
    run_kernel(call, Pass::Forward);
    FAIL() << "it read a tensor that is not there";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::Internal);
    EXPECT_EQ(std::string(error.what()), "layer (relu) reads its input \"x\", which is not there");
  }
}

TEST(RunKernel, EveryOpHasAFastKernel) {
  for (const Op* op : testing::non_empty(ops())) {
    const CpuKernel& kernel = cpu_kernel(*op);
    // A formula of the model's author is computed as the reference does.
    EXPECT_EQ(kernel.reference, op == &formula_op()) << op->name;
    EXPECT_NE(kernel.forward, nullptr) << op->name;
    EXPECT_EQ(kernel.backward_input != nullptr, reference(*op).backward_input != nullptr)
        << op->name;
    EXPECT_EQ(kernel.backward_weight != nullptr, reference(*op).backward_weight != nullptr)
        << op->name;
  }
}

// Subnormal numbers would make a kernel tens of times slower without an effect on training; the
// thread's own arithmetic stays unchanged.
TEST(RunKernel, SubnormalNumbersAreZerosToAKernelAndToNobodyElse) {
  float small = std::ldexp(1.F, -100), smaller = std::ldexp(1.F, -40), product = 7;
  Graph graph;
  Tensor x = activation(sizes({1, 1})), w = parameter(sizes({1, 1}));
  x.name = "x", w.name = "w";
  const TensorId x_id = graph.add(x), w_id = graph.add(w);
  graph.add("product", matmul(), {x_id, w_id});
  const TensorView in[] = {{&small, DType::F32, 2, {1, 1}}, {&smaller, DType::F32, 2, {1, 1}}};
  const TensorView out{&product, DType::F32, 2, {1, 1}};
  Scratch scratch;
  const Binding binding;
  KernelCall call{.graph = graph, .node = graph.nodes[0], .binding = binding, .scratch = scratch};
  call.inputs = in, call.outputs = {&out, 1};
  run_kernel(call, Pass::Forward);
  EXPECT_EQ(product, 0);
  volatile float here = small;
  here = here * smaller;
  EXPECT_EQ(here, std::ldexp(1.F, -140)) << "the mode outlived the kernel";
}

// oneDNN objects that a thread keeps are its own and do not affect results.
TEST(RunKernel, ThreadsGiveTheSameBits) {
  Graph graph;
  const auto add = [&](Tensor t, const std::string& name) {
    t.name = name;
    return graph.add(t);
  };
  const TensorId x = add(activation(sizes({2, 24, 9, 9})), "x"),
                 kernel = add(parameter(sizes({40, 24, 3, 3})), "kernel"),
                 weight = add(parameter(sizes({9, 31})), "weight");
  graph.add("convolution", convolution(), {x, kernel}, {{"padding", 1}});
  graph.add("product", matmul(), {x, weight});
  const Binding binding;
  const auto run = [&] {
    std::vector<std::vector<float>> results;
    Scratch scratch;
    for (const Node& node : graph.nodes) {
      std::vector<std::vector<float>> numbers;
      std::vector<TensorView> views;
      const auto make = [&](TensorId id, std::size_t stream) {
        const std::vector<std::int64_t> shape = local_shape(graph[id], binding);
        TensorView v;
        v.rank = static_cast<int>(shape.size());
        std::copy(shape.begin(), shape.end(), v.size.begin());
        auto& made = numbers.emplace_back(static_cast<std::size_t>(v.elements()));
        for (std::size_t e = 0; e < made.size(); ++e)
          made[e] = static_cast<float>(Random(5, stream).uniform(e) - 0.5);
        v.data = made.data();
        views.push_back(v);
      };
      for (TensorId id : node.inputs) make(id, id.value);
      make(node.outputs[0], 99);
      KernelCall call{.graph = graph, .node = node, .binding = binding, .scratch = scratch};
      call.inputs = std::span(views).first(2), call.outputs = std::span(views).last(1);
      for (int again = 0; again < 3; ++again) run_kernel(call, Pass::Forward);
      results.push_back(numbers.back());
    }
    return results;
  };
  const auto expected = run();
  std::vector<std::vector<std::vector<float>>> found(3);
  std::vector<std::thread> threads;
  for (auto& results : found) threads.emplace_back([&] { results = run(); });
  for (std::thread& t : threads) t.join();
  for (const auto& results : testing::non_empty(found)) EXPECT_EQ(results, expected);
}

// --- 16-bit formats ---

TEST(Convert, RoundsToNearestEven) {
  const std::vector<float> from = {1.0F, 1.0F + 0x1p-8F, 1.0F + 0x3p-8F, -3.0F, 0x1.fffffep127F,
                                   0.0F, -0.0F,          1.0F + 0x1p-7F};
  std::vector<std::uint16_t> bits(from.size());
  from_floats(from.data(), bits.data(), DType::BF16, static_cast<std::int64_t>(from.size()));
  EXPECT_EQ(bits, (std::vector<std::uint16_t>{0x3f80, 0x3f80, 0x3f82, 0xc040, 0x7f80, 0, 0x8000,
                                              0x3f81}));
}

// All 65 536 numbers of a format convert to themselves, and a value between two neighbours to the
// nearer one.
void expect_exact(DType type) {
  for (std::uint32_t i = 0; i < 0x10000; i += 0x800) {
    std::vector<std::uint16_t> bits(0x800), back(0x800);
    for (std::uint32_t j = 0; j < 0x800; ++j) bits[j] = static_cast<std::uint16_t>(i + j);
    std::vector<float> numbers(0x800);
    to_floats(bits.data(), type, numbers.data(), 0x800);
    from_floats(numbers.data(), back.data(), type, 0x800);
    for (std::size_t j = 0; j < bits.size(); ++j) {
      if (std::isnan(numbers[j])) continue;
      ASSERT_EQ(bits[j], back[j]) << numbers[j];
      // Converted one at a time, so that the vector path of eight is not used.
      float single = 0;
      to_floats(&bits[j], type, &single, 1);
      ASSERT_EQ(single, numbers[j]);
      if (j == 0 || !std::isfinite(numbers[j - 1]) || !std::isfinite(numbers[j])) continue;
      const float middle = numbers[j - 1] + (numbers[j] - numbers[j - 1]) / 2;
      const float below = std::nextafter(middle, numbers[j - 1]),
                  above = std::nextafter(middle, numbers[j]);
      for (const auto& [number, nearest] :
           {std::pair{middle, bits[j] % 2 == 0 ? bits[j] : bits[j - 1]},
            std::pair{below, bits[j - 1]}, std::pair{above, bits[j]}}) {
        std::uint16_t one = 0;
        std::vector<std::uint16_t> eight(8);
        from_floats(&number, &one, type, 1);
        ASSERT_EQ(one, nearest) << number;
        from_floats(std::vector<float>(8, number).data(), eight.data(), type, 8);
        ASSERT_EQ(eight, std::vector<std::uint16_t>(8, nearest)) << number;
      }
    }
  }
}
TEST(Convert, F16IsExact) { expect_exact(DType::F16); }
TEST(Convert, BF16IsExact) { expect_exact(DType::BF16); }

TEST(Convert, WhatIsNoNumberStaysNone) {
  for (DType type : {DType::F16, DType::BF16}) {
    const std::vector<float> none(9, std::numeric_limits<float>::quiet_NaN());
    std::vector<std::uint16_t> bits(none.size());
    std::vector<float> back(none.size());
    from_floats(none.data(), bits.data(), type, 9);
    to_floats(bits.data(), type, back.data(), 9);
    for (float v : testing::non_empty(back)) EXPECT_TRUE(std::isnan(v));
    const float huge = 1e30F;
    std::uint16_t one = 0;
    float found = 0;
    from_floats(&huge, &one, DType::F16, 1);
    to_floats(&one, DType::F16, &found, 1);
    EXPECT_TRUE(std::isinf(found));
  }
}

// --- scratch ---

TEST(Scratch, FramesGiveBackAndPointersStay) {
  Scratch scratch;
  {
    const Scratch::Frame outer(scratch);
    float* const first = scratch.floats(100);
    first[0] = 7;
    for (int i = 0; i < 3; ++i) {
      const Scratch::Frame inner(scratch);
      float* const large = scratch.floats(1 << 20);
      large[(1 << 20) - 1] = 1;
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(large) % 64, 0u);
    }
    EXPECT_EQ(first[0], 7);
    float* const second = scratch.floats(16);
    EXPECT_NE(first, second);
  }
  EXPECT_EQ(scratch.most().value, 448 + (4 << 20));
  const Scratch::Frame again(scratch);
  scratch.floats(1 << 20);
  EXPECT_EQ(scratch.most().value, 448 + (4 << 20));
}

}  // namespace
}  // namespace trainyard

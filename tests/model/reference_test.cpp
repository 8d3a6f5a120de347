// Compares every op's gradients with central differences of its forward, where the backward can
// access only what saved() declares.
#include "core/model/reference.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>
#include <string>

#include "core/base/error.h"
#include "core/model/formula.h"
#include "core/model/graph_builder.h"
#include "core/model/ops.h"
#include "tests/support/non_empty.h"

namespace trainyard {
namespace {

struct Case {
  std::string name;
  const Op& op;
  std::vector<Tensor> inputs;
  std::map<std::string, std::int64_t> attributes = {};
  std::int64_t index_below = 4;  // ids and labels
  bool flash = true;
  std::shared_ptr<const ElementFormulas> formulas = nullptr;
  std::map<std::size_t, std::vector<double>> given = {};  // by input: numbers that have no gradient
};

Tensor activation(Shape shape) { return {"", std::move(shape), TensorKind::Activation, ""}; }
Tensor parameter(Shape shape) { return {"", std::move(shape), TensorKind::Parameter, ""}; }
Tensor indices(Shape shape) { return {"", std::move(shape), TensorKind::Index, ""}; }
Shape sizes(std::initializer_list<std::int64_t> list) {
  Shape shape;
  for (std::int64_t n : list) shape.push_back(whole(n));
  return shape;
}
Dim heads(std::int64_t count, std::int64_t size) { return {count * size, Axis::Heads, count}; }

// One op on random inputs; experts of copies and scores are random too.
struct Subject {
  Graph graph;
  Binding binding;
  std::vector<HostTensor> inputs;
  bool flash = true;

  Subject(const Case& c, std::uint64_t seed) : flash(c.flash) {
    std::vector<TensorId> ids;
    for (std::size_t i = 0; i < c.inputs.size(); ++i) {
      Tensor t = c.inputs[i];
      t.name = "input " + std::to_string(i);
      ids.push_back(graph.add(std::move(t)));
    }
    if (c.formulas != nullptr)
      add_formula(graph, "subject", ids, *c.formulas);
    else
      graph.add("subject", c.op, ids, c.attributes);
    for (std::size_t i = 0; i < ids.size(); ++i) {
      const Random random(seed, i);
      HostTensor t = zeros(local_shape(graph[ids[i]], binding));
      for (std::size_t e = 0; e < t.values.size(); ++e)
        t.values[e] = graph[ids[i]].kind == TensorKind::Index
                          ? static_cast<double>(random.between(e, 0, c.index_below - 1))
                          : 2 * random.uniform(e) - 1;
      if (const auto found = c.given.find(i); found != c.given.end()) t.values = found->second;
      inputs.push_back(std::move(t));
    }
    if (c.op.name == "routed_matmul" || c.op.name == "dispatch") {
      HostTensor& routed = inputs[c.op.name == "dispatch" ? 1 : 0];
      const std::size_t copies =
          c.op.name == "dispatch"
              ? routed.values.size()
              : routed.values.size() / static_cast<std::size_t>(routed.shape.back());
      for (std::size_t e = 0; e < copies; ++e)
        routed.experts.push_back(static_cast<std::int32_t>(Random(seed, 99).between(e, 0, 2)));
    }
  }

  const Node& node() const { return graph.nodes[0]; }
  ReferenceCall call(std::span<const HostTensor* const> in) const {
    return {graph, node(), binding, Random(7), in, {}, {}, {}, flash};
  }
  ReferenceResult forward() const {
    std::vector<const HostTensor*> in;
    for (const HostTensor& t : inputs) in.push_back(&t);
    return reference(*node().op).forward(call(in));
  }
};

double weight_of(std::size_t output, std::size_t element) {
  return 2 * Random(3, output).uniform(element) - 1;
}

double objective(const Subject& s) {
  double sum = 0;
  const ReferenceResult result = s.forward();
  for (std::size_t o = 0; o < result.outputs.size(); ++o)
    for (std::size_t e = 0; e < result.outputs[o].values.size(); ++e)
      sum += weight_of(o, e) * result.outputs[o].values[e];
  return sum;
}

struct Gradients {
  std::vector<HostTensor> input, weight;
};

// Runs both backwards on what is kept: after BackwardInput, only what is marked for the weights.
Gradients backward(const Subject& s) {
  const ReferenceResult result = s.forward();
  const Precision precision;
  const std::vector<Saved> saved =
      s.node().op->saved({s.graph, s.node(), s.binding, precision, s.flash});
  std::vector<HostTensor> dy;
  std::vector<const HostTensor*> dy_at;
  for (std::size_t o = 0; o < result.outputs.size(); ++o) {
    dy.push_back(result.outputs[o]);
    for (std::size_t e = 0; e < dy[o].values.size(); ++e) dy[o].values[e] = weight_of(o, e);
  }
  for (const HostTensor& t : dy) dy_at.push_back(&t);
  std::set<std::string> facts, expected;
  for (const KeptFact& k : result.kept) facts.insert(std::string(k.what));
  for (const Saved& k : saved)
    if (!k.tensor.valid()) expected.insert(std::string(k.what));
  EXPECT_EQ(facts, expected) << "the forward keeps other facts than saved() lists";

  const auto run = [&](auto* function, bool weight) {
    if (function == nullptr) return std::vector<HostTensor>(s.inputs.size());
    const auto in_reach = [&](TensorId id) {
      return s.graph[id].kind == TensorKind::Parameter ||
             std::any_of(saved.begin(), saved.end(), [&](const Saved& k) {
               return k.tensor == id && (!weight || k.for_weight);
             });
    };
    std::vector<const HostTensor*> in, out;
    for (std::size_t i = 0; i < s.inputs.size(); ++i)
      in.push_back(in_reach(s.node().inputs[i]) ? &s.inputs[i] : nullptr);
    for (std::size_t o = 0; o < result.outputs.size(); ++o)
      out.push_back(in_reach(s.node().outputs[o]) ? &result.outputs[o] : nullptr);
    std::vector<KeptFact> kept;
    for (const KeptFact& fact : result.kept)
      for (const Saved& k : saved)
        if (!k.tensor.valid() && k.what == fact.what && (!weight || k.for_weight))
          kept.push_back(fact);
    ReferenceCall call = s.call(in);
    call.outputs = out;
    call.gradients = dy_at;
    call.kept = kept;
    return function(call);
  };
  const Reference& maths = reference(*s.node().op);
  return {run(maths.backward_input, false), run(maths.backward_weight, true)};
}

// Central differences with a step that balances rounding against the third derivative.
void expect_gradients(const Case& c, std::uint64_t seed) {
  SCOPED_TRACE(c.name + ", seed " + std::to_string(seed));
  Subject s(c, seed);
  const Gradients found = backward(s);
  constexpr double kStep = 1e-5;
  for (std::size_t i = 0; i < s.inputs.size(); ++i) {
    const TensorKind kind = s.graph[s.node().inputs[i]].kind;
    const HostTensor& from_input = found.input[i];
    const HostTensor& from_weight = found.weight[i];
    if (kind == TensorKind::Index) continue;
    if (c.given.contains(i)) {
      EXPECT_TRUE(from_input.values.empty() && from_weight.values.empty()) << "input " << i;
      continue;
    }
    EXPECT_FALSE(!from_input.values.empty() && !from_weight.values.empty()) << "input " << i;
    const HostTensor& gradient = from_input.values.empty() ? from_weight : from_input;
    if (gradient.values.empty()) {
      EXPECT_EQ(kind, TensorKind::Activation) << "parameter " << i << " has no gradient";
      continue;  // a target, whose gradient nobody needs
    }
    ASSERT_EQ(gradient.shape, s.inputs[i].shape);
    for (std::size_t e = 0; e < gradient.values.size(); ++e) {
      double& x = s.inputs[i].values[e];
      const double before = x;
      x = before + kStep;
      const double high = objective(s);
      x = before - kStep;
      const double low = objective(s);
      x = before;
      const double difference = (high - low) / (2 * kStep);
      EXPECT_NEAR(gradient.values[e], difference, 1e-8 + 1e-6 * std::abs(difference))
          << "input " << i << " element " << e;
    }
  }
}

std::vector<Case> attention_cases() {
  std::vector<Case> list;
  const auto tokens = [](std::int64_t sequence, std::int64_t count, std::int64_t size) {
    return activation({whole(sequence), whole(2), heads(count, size)});
  };
  for (bool flash : {true, false})
    for (std::int64_t causal : {0, 1})
      for (std::int64_t window : {0, 2})
        for (std::int64_t kv : {1, 2, 4})
          for (std::int64_t drop : {0, 1})
            list.push_back({"attention",
                            attention(),
                            {tokens(5, 4, 3), tokens(5, kv, 3), tokens(5, kv, 2)},
                            {{"heads", 4},
                             {"kv_heads", kv},
                             {"causal", causal},
                             {"window", window},
                             {"dropout", drop}},
                            4,
                            flash});
  list.push_back({"attention to another sequence",
                  attention(),
                  {tokens(3, 2, 2), tokens(6, 2, 2), tokens(6, 2, 2)},
                  {{"heads", 2}}});
  for (std::int64_t causal : {0, 1})
    list.push_back(
        {"attention with position biases",
         attention(),
         {tokens(12, 2, 2), tokens(12, 2, 2), tokens(12, 2, 2), parameter({whole(8), heads(2, 1)})},
         {{"heads", 2}, {"causal", causal}}});
  for (bool flash : {true, false})
    for (std::int64_t chunk : {0, 2})
      list.push_back({"attention with sinks",
                      attention(),
                      {tokens(5, 4, 3), tokens(5, 2, 3), tokens(5, 2, 2), parameter({heads(4, 1)})},
                      {{"heads", 4}, {"kv_heads", 2}, {"causal", 1}, {"chunk", chunk}},
                      4,
                      flash});
  return list;
}

std::vector<Case> recurrence_cases() {
  const Tensor x = activation(sizes({5, 2, 6})), taps = parameter(sizes({6, 3}));
  std::vector<Case> list = {
      {"causal convolution", causal_convolution(), {x, taps}},
      {"causal convolution with bias", causal_convolution(), {x, taps, parameter(sizes({6}))}}};
  for (std::int64_t groups : {1, 2}) {
    const Tensor state = activation({whole(4), whole(2), heads(groups, 3)}),
                 each = parameter(sizes({4}));
    list.push_back({"state space",
                    state_space(),
                    {activation({whole(4), whole(2), heads(4, 2)}), activation(sizes({4, 2, 4})),
                     state, state, each, each, each},
                    {{"heads", 4}, {"groups", groups}}});
  }
  const Tensor channels = activation(sizes({4, 2, 3})), read = activation(sizes({4, 2, 2}));
  list.push_back(
      {"selective scan",
       selective_scan(),
       {channels, channels, read, read, parameter(sizes({3, 2})), parameter(sizes({3}))}});
  for (std::int64_t keys : {1, 2}) {
    const Tensor key = activation({whole(4), whole(2), heads(keys, 3)}),
                 each = parameter(sizes({2})), per_token = activation(sizes({4, 2, 2}));
    list.push_back({"gated delta",
                    gated_delta(),
                    {key, key, activation({whole(4), whole(2), heads(2, 2)}), per_token, per_token,
                     each, each},
                    {{"heads", 2}, {"key_heads", keys}}});
  }
  return list;
}

std::vector<Case> image_cases() {
  std::vector<Case> list;
  for (std::int64_t stride : {1, 2})
    for (std::int64_t padding : {0, 1})
      for (std::int64_t groups : {1, 2}) {
        list.push_back({"convolution",
                        convolution(),
                        {activation(sizes({2, 4, 5, 4})), parameter(sizes({6, 4 / groups, 3, 2})),
                         parameter(sizes({6}))},
                        {{"stride", stride}, {"padding", padding}, {"groups", groups}}});
        list.push_back({"convolution without bias",
                        convolution(),
                        {activation(sizes({1, 2, 3, 3})), parameter(sizes({2, 2 / groups, 1, 1}))},
                        {{"stride", stride}, {"padding", padding}, {"groups", groups}}});
        list.push_back(
            {"pooling",
             pooling(),
             {activation(sizes({2, 3, 5, 4}))},
             {{"kernel", 3}, {"stride", stride}, {"padding", padding}, {"average", groups - 1}}});
      }
  list.push_back({"pooling of whole images",
                  pooling(),
                  {activation(sizes({2, 3, 2, 4}))},
                  {{"kernel", 0}, {"average", 1}}});
  list.push_back({"rows around an image",
                  halo_rows(),
                  {activation(sizes({2, 3, 4, 2}))},
                  {{"above", 1}, {"below", 2}}});
  list.push_back({"convolution without padding above and below",
                  convolution(),
                  {activation(sizes({2, 2, 5, 4})), parameter(sizes({3, 2, 3, 3}))},
                  {{"padding", 1}, {"row_padding", 0}}});
  list.push_back({"batch norm",
                  batch_norm(),
                  {activation(sizes({3, 2, 2, 3})), parameter(sizes({2})), parameter(sizes({2}))}});
  list.push_back({"flatten", flatten(), {activation(sizes({2, 3, 2, 2}))}});
  list.push_back(
      {"patch tokens",
       patch_tokens(),
       {activation(sizes({2, 3, 2, 2})), parameter(sizes({3})), parameter(sizes({5, 3}))}});
  list.push_back({"patch tokens of two images",
                  patch_tokens(),
                  {activation(sizes({2, 3, 4, 2})), parameter(sizes({4, 3}))},
                  {{"images", 2}}});
  list.push_back({"patch tokens by windows",
                  patch_tokens(),
                  {activation(sizes({2, 3, 4, 4})), parameter(sizes({3}))},
                  {{"window", 2}}});
  return list;
}

std::vector<Case> token_cases() {
  const Tensor x = activation(sizes({3, 2, 4})), vector = parameter(sizes({4}));
  const Tensor by_head = activation({whole(3), whole(2), heads(2, 4)});
  std::vector<Case> list = {
      {"matmul", matmul(), {x, parameter(sizes({4, 5}))}},
      {"matmul with bias", matmul(), {x, parameter(sizes({4, 5})), parameter(sizes({5}))}},
      {"embedding", embedding(), {indices(sizes({3, 2})), parameter(sizes({4, 5}))}},
      {"scaled embedding",
       embedding(),
       {indices(sizes({6})), parameter(sizes({4, 3}))},
       {{"scaled", 1}}},
      {"tensor train",
       tensor_train(),
       {indices(sizes({6})), parameter(sizes({2, 4})), parameter(sizes({2, 12})),
        parameter(sizes({3, 6}))},
       {{"rows", 11}, {"first_rank", 2}, {"second_rank", 3}, {"scaled", 1}},
       11},
      {"layer norm", layer_norm(), {x, vector, vector}},
      {"layer norm without bias", layer_norm(), {x, vector}},
      {"layer norm by head", layer_norm(), {by_head, vector, vector}},
      {"rms norm", rms_norm(), {x, vector}},
      {"rms norm by head", rms_norm(), {by_head, vector}},
      {"rms norm with unit offset", rms_norm(), {x, vector}, {{"unit_offset", 1}}},
      {"rotary", rotary(), {by_head}},
      {"rotary of one head", rotary(), {x}},
      {"rotary of patches",
       rotary(),
       {activation(sizes({10, 2, 4}))},
       {{"images", 2}, {"columns", 2}, {"class_token", 1}}},
      {"merge patches",
       merge_patches(),
       {activation(sizes({8, 2, 3}))},
       {{"columns", 4}, {"merge", 2}}},
      {"merge patches by windows",
       merge_patches(),
       {activation(sizes({16, 2, 3}))},
       {{"columns", 4}, {"merge", 2}, {"window", 2}}},
      {"mean of patches",
       merge_patches(),
       {activation(sizes({10, 2, 3}))},
       {{"images", 2}, {"columns", 2}, {"class_token", 1}, {"merge", 2}, {"average", 1}}},
      {"place images", place_images(), {x, activation(sizes({2, 2, 4}))}},
      {"add", add(), {x, x}},
      {"add repeated", add(), {x, activation(sizes({3, 1, 4}))}},
      {"multiply", multiply(), {x, x}},
      {"scale", scale(), {x}, {{"numerator", -5}, {"denominator", 3}}},
      {"gelu", gelu(), {x}},
      {"relu", relu(), {x}},
      {"tanh", tanh_op(), {x}},
      {"squared relu", squared_relu(), {x}},
      {"layer scale", layer_scale(), {x, parameter(sizes({4}))}},
      {"sigmoid gate", sigmoid_gate(), {x, x}},
      {"sigmoid gate of rows", sigmoid_gate(), {activation(sizes({3, 2, 1})), x}},
      {"gated silu", gated_silu(), {x, x}},
      {"gated silu of one tensor", gated_silu(), {x}},
      {"gated gelu", gated_gelu(), {x, x}},
      {"gated gelu of one tensor", gated_gelu(), {x}},
      {"dropout", dropout(), {x}},
      {"loss", softmax_loss(), {x, indices(sizes({3, 2}))}},
      {"loss of one logit",
       softmax_loss(),
       {activation(sizes({5, 1})), indices(sizes({5}))},
       {},
       2},
      {"squared error", squared_error(), {x, x}},
      {"split qkv", split_qkv(), {activation({whole(3), whole(2), heads(2, 6)})}, {{"heads", 2}}},
      {"concat heads", concat_heads(), {by_head, activation(sizes({3, 2, 3}))}},
      {"first token", first_token(), {x}},
      {"dot interaction",
       dot_interaction(),
       {activation(sizes({3, 4})), activation(sizes({3, 4})), activation(sizes({3, 4}))}},
      {"lstm", lstm(), {activation(sizes({4, 2, 12})), parameter(sizes({3, 12}))}},
      {"lstm of one step", lstm(), {activation(sizes({1, 3, 8})), parameter(sizes({2, 8}))}},
      {"dispatch", dispatch(), {x, activation(sizes({3, 2, 2}))}},
      {"routed matmul",
       routed_matmul(),
       {activation(sizes({3, 2, 4})), parameter(sizes({3, 4, 5}))},
       {{"top_k", 2}}},
      {"routed matmul with bias",
       routed_matmul(),
       {activation(sizes({3, 2, 4})), parameter(sizes({3, 4, 5})), parameter(sizes({3, 5}))},
       {{"top_k", 2}}},
      {"combine", combine(), {activation(sizes({3, 2, 4})), activation(sizes({3, 2}))}},
  };
  for (std::int64_t top_k : {1, 2, 3}) {
    list.push_back({"router", router(), {x, parameter(sizes({4, 3}))}, {{"top_k", top_k}}});
    list.push_back({"router with bias",
                    router(),
                    {x, parameter(sizes({4, 3})), parameter(sizes({3}))},
                    {{"top_k", top_k}}});
  }
  return list;
}

// These cases have a weight of four rows and six columns, of which five blocks are stored.
std::vector<Case> sparse_cases() {
  const Tensor x = activation(sizes({3, 2, 4})), image = activation(sizes({2, 1, 4, 3}));
  const std::map<std::string, std::int64_t> filters = {
      {"columns", 6}, {"kernel_rows", 3}, {"kernel_columns", 2}, {"stride", 2}, {"padding", 1}};
  std::vector<Case> list;
  for (const std::int64_t block : {1, 2}) {
    const std::vector<Tensor> weight = {parameter(sizes({5, block})), parameter(sizes({9}))};
    const auto add = [&](const char* name, const Op& op, const Tensor& in,
                         const std::map<std::string, std::int64_t>& attributes,
                         std::vector<Tensor> bias) {
      std::vector<Tensor> inputs = {in, weight[0], weight[1]};
      inputs.insert(inputs.end(), bias.begin(), bias.end());
      list.push_back({name,
                      op,
                      std::move(inputs),
                      attributes,
                      4,
                      true,
                      nullptr,
                      {{2, {2, 0, 1, 2, 0, 2, 1, 1, 2}}}});
    };
    add("sparse matmul", sparse_matmul(), x, {{"columns", 6}}, {});
    add("sparse matmul with bias", sparse_matmul(), x, {{"columns", 6}}, {parameter(sizes({6}))});
    add("sparse convolution", sparse_convolution(), image, filters, {});
    add("sparse convolution with bias", sparse_convolution(), image, filters,
        {parameter(sizes({4}))});
  }
  return list;
}

Case formula_case(std::vector<Tensor> inputs, std::string_view value,
                  std::initializer_list<std::string_view> gradients) {
  auto formulas = std::make_shared<ElementFormulas>();
  formulas->value = value_formula(value, inputs.size());
  for (const std::string_view gradient : gradients)
    formulas->gradients.push_back(gradient_formula(gradient, inputs.size()));
  return {std::string(value), formula_op(), std::move(inputs), {}, 4, true, std::move(formulas)};
}

// Whatever a gradient reads is kept, and nothing else: of inputs, of the output, for a weight.
std::vector<Case> formula_cases() {
  const Tensor x = activation(sizes({3, 2, 4})), weight = parameter(sizes({4}));
  return {
      formula_case({x, weight}, "tanh(x * x1)", {"dy * x1 * (1 - y * y)", "dy * x * (1 - y*y)"}),
      formula_case({x, x, weight}, "x * x1 + x2", {"dy * x1", "dy * x", "dy"}),
      formula_case({x, weight}, "x + sin(x1)", {"dy", "dy * cos(x1)"}),
      formula_case({x, weight}, "exp(x - x1)", {"dy * y", "-dy * y"})};
}

std::vector<Case> cases() {
  std::vector<Case> list = token_cases();
  for (const auto& more :
       {attention_cases(), image_cases(), recurrence_cases(), sparse_cases(), formula_cases()})
    for (const Case& c : more) list.push_back(c);
  return list;
}

TEST(Reference, GradientsAreThoseOfCentralDifferences) {
  for (const Case& c : testing::non_empty(cases()))
    for (std::uint64_t seed : {1, 2, 3}) expect_gradients(c, seed);
}

TEST(Reference, EveryOpHasACase) {
  std::set<std::string_view> covered;
  for (const Case& c : cases()) covered.insert(c.op.name);
  for (const Op* op : testing::non_empty(ops()))
    EXPECT_TRUE(covered.count(op->name) == 1) << op->name;
}

// An op has a backward for inputs, or for weights, exactly where its work says that it takes time.
TEST(Reference, BackwardsAreThereWhereWorkIs) {
  const Precision precision;
  for (const Case& c : testing::non_empty(cases())) {
    const Subject s(c, 1);
    const LocalNode local{s.graph, s.node(), s.binding, precision, s.flash};
    const Reference& maths = reference(c.op);
    if (c.op.work(local, Pass::BackwardInput).read.value > 0) {
      EXPECT_NE(maths.backward_input, nullptr) << c.name;
    }
    EXPECT_EQ(c.op.work(local, Pass::BackwardWeight).read.value > 0,
              maths.backward_weight != nullptr)
        << c.name;
  }
}

TEST(Reference, AttentionOfOneKeyIsItsValue) {
  const Subject s({"attention",
                   attention(),
                   {activation({whole(1), whole(1), heads(2, 2)}),
                    activation({whole(1), whole(1), heads(2, 2)}),
                    activation({whole(1), whole(1), heads(2, 2)})},
                   {{"heads", 2}}},
                  5);
  EXPECT_EQ(s.forward().outputs[0].values, s.inputs[2].values);
}

TEST(Reference, CausalAttentionIgnoresWhatComesLater) {
  Subject s({"attention",
             attention(),
             {activation({whole(3), whole(1), heads(1, 2)}),
              activation({whole(3), whole(1), heads(1, 2)}),
              activation({whole(3), whole(1), heads(1, 2)})},
             {{"heads", 1}, {"causal", 1}}},
            5);
  const std::vector<double> before = s.forward().outputs[0].values;
  s.inputs[2].values[4] += 1;  // the last token's value
  const std::vector<double> after = s.forward().outputs[0].values;
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(before[i], after[i]) << i;
  EXPECT_NE(before[4], after[4]);
}

TEST(Reference, ConvolutionOfOneByHand) {
  Subject s({"convolution",
             convolution(),
             {activation(sizes({1, 1, 2, 2})), parameter(sizes({1, 1, 2, 2}))},
             {{"padding", 1}}},
            1);
  s.inputs[0].values = {1, 2, 3, 4};
  s.inputs[1].values = {10, 20, 30, 40};
  EXPECT_EQ(s.forward().outputs[0].values,
            (std::vector<double>{40, 110, 60, 140, 300, 140, 60, 110, 40}));
}

TEST(Reference, WhatIsNotKeptIsNamed) {
  const Subject s({"matmul", matmul(), {activation(sizes({2, 2})), parameter(sizes({2, 2}))}}, 1);
  const std::vector<const HostTensor*> in = {nullptr, &s.inputs[1]};
  const std::vector<const HostTensor*> dy = {&s.inputs[0]};
  ReferenceCall call = s.call(in);
  call.gradients = dy;
  try {
    reference(matmul()).backward_weight(call);
    FAIL() << "it read a tensor that is not there";
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()),
              "subject (matmul) reads its input \"input 0\", which is not there");
  }
}

// T5's own figures (Raffel et al. 2020): of 32 buckets, 16 for keys that come after where nothing
// hides them, half of each single distances, the rest up to 128.
TEST(PositionBias, BucketsGrowWithTheLogarithmOfTheDistance) {
  const std::pair<std::int64_t, std::int64_t> both[] = {{0, 0},   {1, 1},    {7, 7},   {8, 8},
                                                        {15, 9},  {16, 10},  {31, 11}, {32, 12},
                                                        {64, 14}, {127, 15}, {128, 15}};
  for (const auto& [distance, bucket] : both) {
    EXPECT_EQ(distance_bucket(distance, false, 32), bucket) << distance;
    EXPECT_EQ(distance_bucket(-distance, false, 32), distance > 0 ? 16 + bucket : 0) << -distance;
  }
  const std::pair<std::int64_t, std::int64_t> before[] = {{-3, 0},  {0, 0},   {15, 15},  {16, 16},
                                                          {31, 21}, {64, 26}, {1000, 31}};
  for (const auto& [distance, bucket] : before)
    EXPECT_EQ(distance_bucket(distance, true, 32), bucket) << distance;
}

}  // namespace
}  // namespace trainyard

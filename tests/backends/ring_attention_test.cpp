// Attention of ranks that divide a sequence, each with its queries and the keys and values of all,
// is attention of the whole: results, and gradients once they are summed over the ranks.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <deque>

#include "core/model/ops.h"
#include "core/model/reference.h"
#include "tests/backends/kernel_agreement.h"

namespace trainyard {
namespace {

using testing::Draw;
using testing::heads_dim;

struct RingCase {
  Graph graph;
  int ranks = 1;
  bool flash = true;
  std::uint64_t seed = 0;

  explicit RingCase(std::uint64_t number) : seed(number) {
    Draw d(number);
    ranks = static_cast<int>(d.between(2, 4));
    flash = d.coin();
    const std::int64_t kv = d.between(1, 2), heads = kv * d.between(1, 2);
    const std::int64_t qk = d.between(1, 20), v = d.coin() ? qk : 16;
    const std::int64_t batch = d.between(1, 2), pieces = 2 * std::int64_t{ranks},
                       queries = pieces * d.between(1, 20);
    const bool causal = d.coin();
    const std::int64_t keys = causal || d.coin() ? queries : pieces * d.between(1, 9);
    const auto add = [&](const char* name, std::int64_t length, std::int64_t count,
                         std::int64_t width) {
      return graph.add({name,
                        {{length, Axis::Sequence, 0}, whole(batch), heads_dim(count, width)},
                        TensorKind::Activation,
                        ""});
    };
    std::vector<TensorId> inputs = {add("q", queries, heads, qk), add("k", keys, kv, qk),
                                    add("v", keys, kv, v)};
    if (d.between(0, 3) == 0)
      inputs.push_back(graph.add(
          {"bias", {whole(4 * d.between(1, 8)), heads_dim(heads, 1)}, TensorKind::Parameter, ""}));
    graph.add("subject", attention(), inputs,
              {{"heads", heads},
               {"kv_heads", kv},
               {"causal", causal ? 1 : 0},
               {"window", d.coin() ? d.between(1, keys) : 0},
               {"dropout", d.between(0, 1)}});
  }
  const Node& node() const { return graph.nodes[0]; }
  Random random() const { return Random(seed, 3); }
};

using Floats = std::vector<float>;

HostTensor random_tensor(const RingCase& c, TensorId id, std::uint64_t stream) {
  HostTensor made = zeros(local_shape(c.graph[id], Binding{}));
  for (std::size_t e = 0; e < made.values.size(); ++e)
    made.values[e] = static_cast<float>(2 * Random(c.seed, stream).uniform(e) - 1);
  return made;
}

// What one rank is given and what it makes.
struct RankOfRing {
  Floats q, out, d_out, d_q, d_k, d_v, d_bias;
};

class Ring {
 public:
  explicit Ring(const RingCase& c) : case_(c) {
    for (TensorId id : c.node().inputs) inputs_.push_back(random_tensor(c, id, id.value));
    gradient_ = random_tensor(c, c.node().outputs[0], 9);
    binding_.cp = c.ranks;
  }

  void run() {
    for (int rank = 0; rank < case_.ranks; ++rank) run(rank);
  }

  void expect_the_whole() const {
    std::vector<const HostTensor*> in;
    for (const HostTensor& t : inputs_) in.push_back(&t);
    const Reference& maths = reference(attention());
    ReferenceCall call{.graph = case_.graph, .node = case_.node(), .binding = one_};
    call.flash_attention = case_.flash, call.random = case_.random(), call.inputs = in;
    const ReferenceResult result = maths.forward(call);
    const HostTensor *out[] = {&result.outputs[0]}, *d_out[] = {&gradient_};
    call.outputs = out, call.gradients = d_out, call.kept = result.kept;
    const std::vector<HostTensor> parts = maths.backward_input(call);
    expect(result.outputs[0].values, joined(&RankOfRing::out, case_.node().outputs[0]), "output");
    expect(parts[0].values, joined(&RankOfRing::d_q, case_.node().inputs[0]), "queries");
    expect(parts[1].values, summed(&RankOfRing::d_k), "keys");
    expect(parts[2].values, summed(&RankOfRing::d_v), "values");
    if (parts.size() > 3) expect(parts[3].values, summed(&RankOfRing::d_bias), "biases");
  }

 private:
  TensorView view(TensorId id, Floats& data, const Binding& binding) const {
    TensorView v;
    for (std::int64_t n : local_shape(case_.graph[id], binding))
      v.size[static_cast<std::size_t>(v.rank++)] = n;
    if (data.empty()) data.assign(static_cast<std::size_t>(v.elements()), NAN);
    v.data = data.data();
    return v;
  }

  // Calls f(first row of the part, rows, first row of the whole).
  template <class F>
  void each_stretch(int rank, TensorId id, F&& f) const {
    const std::int64_t own = local_shape(case_.graph[id], binding_)[0];
    SequencePart{rank, case_.ranks}.each_stretch(own, 0, own, f);
  }
  std::int64_t row_of(TensorId id) const {
    const std::vector<std::int64_t> shape = local_shape(case_.graph[id], one_);
    return shape[1] * shape[2];
  }
  Floats part(const HostTensor& all, int rank, TensorId id) const {
    Floats made(all.values.size() / static_cast<std::size_t>(case_.ranks));
    const std::int64_t row = row_of(id);
    each_stretch(rank, id, [&](std::int64_t i, std::int64_t count, std::int64_t position) {
      std::copy_n(all.values.begin() + position * row, count * row, made.begin() + i * row);
    });
    return made;
  }

  void run(int rank) {
    const Node& node = case_.node();
    RankOfRing& own = ranks_.emplace_back();
    own.q = part(inputs_[0], rank, node.inputs[0]);
    own.d_out = part(gradient_, rank, node.outputs[0]);
    KernelCall call{.graph = case_.graph, .node = node, .binding = binding_, .scratch = scratch_};
    call.flash_attention = case_.flash, call.random = case_.random();
    call.sequence = {rank, case_.ranks};
    std::vector<Floats> whole;
    for (const HostTensor& t : inputs_) whole.emplace_back(t.values.begin(), t.values.end());
    std::vector<TensorView> in = {view(node.inputs[0], own.q, binding_)};
    for (std::size_t i = 1; i < whole.size(); ++i)
      in.push_back(view(node.inputs[i], whole[i], one_));
    const TensorView out[] = {view(node.outputs[0], own.out, binding_)},
                     d_out[] = {view(node.outputs[0], own.d_out, binding_)};
    std::deque<std::vector<std::byte>> held;
    std::vector<FactView> facts;
    for (const Saved& s :
         attention().saved({case_.graph, node, binding_, Precision{}, case_.flash}))
      if (!s.tensor.valid()) {
        held.emplace_back(static_cast<std::size_t>(s.bytes.value), std::byte{0xff});
        facts.push_back(
            {s.what, held.back().data(), s.what == "mask" ? DType::Bool : DType::F32, s.bytes});
      }
    call.inputs = in, call.outputs = out, call.facts = facts;
    run_kernel(call, Pass::Forward);
    std::vector<TensorView> gradients = {view(node.inputs[0], own.d_q, binding_),
                                         view(node.inputs[1], own.d_k, one_),
                                         view(node.inputs[2], own.d_v, one_)};
    std::vector<TensorView> weights(in.size());
    gradients.resize(in.size());
    if (in.size() > 3) {
      own.d_bias.assign(whole[3].size(), 0);
      weights[3] = view(node.inputs[3], own.d_bias, one_);
    }
    call.output_gradients = d_out, call.input_gradients = gradients;
    call.weight_gradients = weights;
    run_kernel(call, Pass::BackwardInput);
  }

  std::vector<double> joined(Floats RankOfRing::* member, TensorId id) const {
    std::vector<double> all(static_cast<std::size_t>(row_of(id)) *
                            static_cast<std::size_t>(local_shape(case_.graph[id], one_)[0]));
    for (int rank = 0; rank < case_.ranks; ++rank) {
      const Floats& own = ranks_[static_cast<std::size_t>(rank)].*member;
      each_stretch(rank, id, [&](std::int64_t i, std::int64_t count, std::int64_t position) {
        std::copy_n(own.begin() + i * row_of(id), count * row_of(id),
                    all.begin() + position * row_of(id));
      });
    }
    return all;
  }
  std::vector<double> summed(Floats RankOfRing::* member) const {
    std::vector<double> sum((ranks_[0].*member).size(), 0);
    for (const RankOfRing& rank : ranks_)
      for (std::size_t e = 0; e < sum.size(); ++e) sum[e] += static_cast<double>((rank.*member)[e]);
    return sum;
  }

  static void expect(const std::vector<double>& wanted, const std::vector<double>& found,
                     const char* what) {
    ASSERT_EQ(wanted.size(), found.size()) << what;
    double largest = 1e-2;  // operands are at most 1
    for (double v : wanted) largest = std::max(largest, std::abs(v));
    for (std::size_t e = 0; e < wanted.size(); ++e)
      ASSERT_NEAR(found[e], wanted[e], 1e-4 * largest) << what << ", element " << e;
  }

  const RingCase& case_;
  std::vector<HostTensor> inputs_;
  HostTensor gradient_;
  Binding binding_, one_;
  Scratch scratch_;
  std::vector<RankOfRing> ranks_;
};

TEST(RingAttention, OfAllRanksIsThatOfTheWhole) {
  for (std::uint64_t number = 0; number < 200 && !::testing::Test::HasFailure(); ++number) {
    SCOPED_TRACE("case " + std::to_string(number));
    const RingCase drawn(number);
    Ring ring(drawn);
    ring.run();
    ring.expect_the_whole();
  }
}

// Every position is one rank's, and under a causal mask all ranks see equally many keys.
TEST(RingAttention, PartsAreOneSequenceAndEqualWork) {
  for (int ranks = 1; ranks <= 5; ++ranks)
    for (const std::int64_t piece : {1, 3, 40}) {
      const std::int64_t size = 2 * piece;
      std::vector<int> owners(static_cast<std::size_t>(size * ranks), 0);
      std::vector<std::int64_t> seen;
      for (int rank = 0; rank < ranks; ++rank) {
        std::int64_t keys = 0, next = 0;
        SequencePart{rank, ranks}.each_stretch(
            size, 0, size, [&](std::int64_t i, std::int64_t count, std::int64_t position) {
              EXPECT_EQ(i, next);
              next = i + count;
              for (std::int64_t p = position; p < position + count; ++p)
                keys += p + 1, ++owners[static_cast<std::size_t>(p)];
            });
        EXPECT_EQ(next, size);
        seen.push_back(keys);
      }
      EXPECT_EQ(std::count(owners.begin(), owners.end(), 1), size * ranks);
      EXPECT_EQ(std::count(seen.begin(), seen.end(), seen[0]), ranks);
    }
}

}  // namespace
}  // namespace trainyard

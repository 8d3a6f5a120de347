// Compares tensor-parallel parts of an op with the same op on one device: a divided vocabulary in
// the embedding and in the loss, divided heads in attention.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "backends/cpu/kernels/ops/vocab_loss.h"
#include "core/model/ops.h"
#include "core/model/reference.h"
#include "tests/backends/kernel_agreement.h"

namespace trainyard {
namespace {

using testing::activation;
using testing::heads_dim;
using testing::indices;
using testing::parameter;

Dim vocab(std::int64_t size) { return {size, Axis::Vocab, 0}; }

// One op in a graph of its own, on `tp` devices.
struct Split {
  Graph graph;
  Binding binding;
  Scratch scratch;

  Split(const Op& op, std::vector<Tensor> inputs, int tp,
        std::map<std::string, std::int64_t> attributes = {}) {
    binding.tp = tp;
    std::vector<TensorId> ids;
    for (Tensor& t : inputs) {
      t.name = "input " + std::to_string(ids.size());
      ids.push_back(graph.add(std::move(t)));
    }
    graph.add("subject", op, ids, std::move(attributes));
  }
  KernelCall call(int rank) {
    KernelCall made{.graph = graph, .node = graph.nodes[0], .binding = binding, .scratch = scratch};
    made.tensor_rank = rank;
    made.random = Random(5);
    return made;
  }
  TensorView view(TensorId id, void* data, DType type = DType::F32) const {
    TensorView v{data, type, 0, {}};
    for (std::int64_t n : local_shape(graph[id], binding))
      v.size[static_cast<std::size_t>(v.rank++)] = n;
    return v;
  }
  TensorView in(std::size_t i, void* data, DType type = DType::F32) const {
    return view(graph.nodes[0].inputs[i], data, type);
  }
  TensorView out(void* data) const { return view(graph.nodes[0].outputs[0], data); }
};

std::vector<float> random_floats(std::size_t n, std::uint64_t seed) {
  std::vector<float> made(n);
  for (std::size_t i = 0; i < n; ++i) made[i] = static_cast<float>(4 * Random(seed).uniform(i) - 2);
  return made;
}

// Columns [first, first + n) of rows of `all`; zeros beyond.
std::vector<float> columns(const std::vector<float>& x, std::int64_t all, std::int64_t first,
                           std::int64_t n) {
  std::vector<float> part;
  for (std::size_t r = 0; r < x.size() / static_cast<std::size_t>(all); ++r)
    for (std::int64_t j = first; j < first + n; ++j)
      part.push_back(j < all ? x[r * static_cast<std::size_t>(all) + static_cast<std::size_t>(j)]
                             : 100.0f);
  return part;
}

struct LossParts {
  float loss = 0;
  std::vector<float> gradient;  // of the whole vocabulary, by rows
};

LossParts whole_loss(const std::vector<float>& logits, std::vector<std::int64_t>& labels,
                     std::int64_t classes) {
  const auto count = static_cast<std::int64_t>(labels.size());
  Split s(softmax_loss(), {activation({whole(count), vocab(classes)}), indices({whole(count)})}, 1);
  std::vector<float> x = logits, softmax(x.size());
  LossParts made;
  made.gradient.resize(x.size());
  KernelCall call = s.call(0);
  const TensorView in[] = {s.in(0, x.data()), s.in(1, labels.data(), DType::I64)};
  const TensorView out[] = {s.out(&made.loss)};
  const FactView facts[] = {{"softmax", softmax.data(), DType::F32,
                             Bytes{static_cast<std::int64_t>(softmax.size() * sizeof(float))}}};
  call.inputs = in, call.outputs = out, call.facts = facts;
  run_kernel(call, Pass::Forward);
  float one = 1;
  const TensorView dy[] = {s.out(&one)};
  const TensorView dx[] = {s.in(0, made.gradient.data()), TensorView{}};
  call.output_gradients = dy, call.input_gradients = dx;
  run_kernel(call, Pass::BackwardInput);
  return made;
}

TEST(VocabSplit, LossOfPartsIsTheLoss) {
  for (const std::int64_t classes : {2, 7, 16, 65, 130})
    for (const int tp : {2, 3, 4}) {
      constexpr std::int64_t kCount = 9;
      const std::vector<float> logits =
          random_floats(static_cast<std::size_t>(kCount * classes), 3);
      std::vector<std::int64_t> labels(kCount);
      for (std::size_t r = 0; r < labels.size(); ++r)
        labels[r] = Random(4).between(r, 0, classes - 1);
      const LossParts expected = whole_loss(logits, labels, classes);

      Split s(softmax_loss(),
              {activation({whole(kCount), vocab(classes)}), indices({whole(kCount)})}, tp);
      if (parts(vocab(classes), s.binding) != tp) continue;
      const std::int64_t n = local_size(vocab(classes), s.binding);
      std::vector<std::vector<float>> x, statistics;
      std::vector<const float*> by_rank;
      for (int rank = 0; rank < tp; ++rank) {
        x.push_back(columns(logits, classes, rank * n, n));
        statistics.emplace_back(kCount * kVocabStatistics);
        const TensorView in[] = {s.in(0, x.back().data()), s.in(1, labels.data(), DType::I64)};
        KernelCall call = s.call(rank);
        call.inputs = in;
        vocab_statistics(call, statistics.back().data());
      }
      for (const auto& each : statistics) by_rank.push_back(each.data());
      std::vector<float> combined(kCount * kVocabStatistics);
      combine_vocab_statistics(by_rank, kCount, combined.data());
      for (int rank = 0; rank < tp; ++rank) {
        auto& mine = x[static_cast<std::size_t>(rank)];
        std::vector<float> softmax(mine.size()), gradient(mine.size(), 7);
        float loss = 0, one = 1;
        const TensorView in[] = {s.in(0, mine.data()), s.in(1, labels.data(), DType::I64)};
        const TensorView out[] = {s.out(&loss)}, dy[] = {s.out(&one)};
        const TensorView dx[] = {s.in(0, gradient.data()), TensorView{}};
        const FactView facts[] = {
            {"softmax", softmax.data(), DType::F32,
             Bytes{static_cast<std::int64_t>(softmax.size() * sizeof(float))}}};
        KernelCall call = s.call(rank);
        call.inputs = in, call.outputs = out, call.facts = facts;
        vocab_loss(call, combined.data());
        EXPECT_NEAR(loss, expected.loss, 1e-6 * static_cast<double>(expected.loss));
        call.output_gradients = dy, call.input_gradients = dx;
        run_kernel(call, Pass::BackwardInput);
        for (std::int64_t r = 0; r < kCount; ++r)
          for (std::int64_t j = 0; j < n; ++j) {
            const std::int64_t column = rank * n + j;
            const float wanted =
                column < classes ? expected.gradient[static_cast<std::size_t>(r * classes + column)]
                                 : 0;
            EXPECT_NEAR(gradient[static_cast<std::size_t>(r * n + j)], wanted, 1e-7)
                << classes << " over " << tp << ": row " << r << ", column " << column;
          }
      }
    }
}

TEST(VocabSplit, CombinedStatisticsDoNotOverflow) {
  const float low[] = {-1e30f, 2, 0}, high[] = {1e30f, 3, 1e30f};
  const float* const by_rank[] = {low, high};
  float combined[kVocabStatistics];
  combine_vocab_statistics(by_rank, 1, combined);
  EXPECT_EQ(combined[0], 1e30f);
  EXPECT_EQ(combined[1], 3.0f);
  EXPECT_EQ(combined[2], 1e30f);
}

TEST(VocabSplit, EmbeddingsOfPartsSumToTheRows) {
  constexpr std::int64_t kRows = 11, kWidth = 5, kIds = 20;
  const std::vector<float> table = random_floats(kRows * kWidth, 1);
  std::vector<std::int64_t> ids(kIds);
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = Random(2).between(i, 0, kRows - 1);
  std::vector<float> sum(kIds * kWidth, 0);
  const int tp = 3;
  Split s(embedding(), {indices({whole(kIds)}), parameter({vocab(kRows), whole(kWidth)})}, tp);
  const std::int64_t n = local_size(vocab(kRows), s.binding);
  for (int rank = 0; rank < tp; ++rank) {
    std::vector<float> mine(static_cast<std::size_t>(n * kWidth), 50), y(sum.size(), 9),
        gradient(mine.size(), 0), dy(sum.size(), 1);
    for (std::int64_t r = 0; r < n && rank * n + r < kRows; ++r)
      std::copy_n(&table[static_cast<std::size_t>((rank * n + r) * kWidth)], kWidth,
                  &mine[static_cast<std::size_t>(r * kWidth)]);
    const TensorView in[] = {s.in(0, ids.data(), DType::I64), s.in(1, mine.data())};
    const TensorView out[] = {s.out(y.data())}, d_out[] = {s.out(dy.data())};
    const TensorView dw[] = {TensorView{}, s.in(1, gradient.data())};
    KernelCall call = s.call(rank);
    call.inputs = in, call.outputs = out;
    run_kernel(call, Pass::Forward);
    for (std::size_t e = 0; e < sum.size(); ++e) sum[e] += y[e];
    call.output_gradients = d_out, call.weight_gradients = dw;
    run_kernel(call, Pass::BackwardWeight);
    for (std::int64_t r = 0; r < n; ++r)
      EXPECT_EQ(gradient[static_cast<std::size_t>(r * kWidth)],
                static_cast<float>(std::count(ids.begin(), ids.end(), rank * n + r)));
  }
  for (std::size_t i = 0; i < ids.size(); ++i)
    for (std::size_t j = 0; j < kWidth; ++j)
      EXPECT_EQ(sum[i * kWidth + j], table[static_cast<std::size_t>(ids[i]) * kWidth + j]);
}

// Heads are divided and key heads shared: each device's heads give what they give on one device,
// including dropout.
TEST(HeadSplit, AttentionOfPartsIsThatOfTheWhole) {
  constexpr std::int64_t kTokens = 7, kBatch = 2, kHeads = 4, kWidth = 3;
  for (const std::int64_t kv : {1, 2, 4})
    for (const int tp : {1, 2, 4}) {
      const auto tokens = [](std::int64_t count, Axis axis) {
        return activation({whole(kTokens), whole(kBatch), {count * kWidth, axis, count}});
      };
      const std::vector<Tensor> inputs = {tokens(kHeads, Axis::Heads), tokens(kv, Axis::KvHeads),
                                          tokens(kv, Axis::KvHeads)};
      const std::map<std::string, std::int64_t> attributes = {
          {"heads", kHeads}, {"kv_heads", kv}, {"causal", 1}, {"dropout", 1}};
      const std::vector<float> q = random_floats(kTokens * kBatch * kHeads * kWidth, 1),
                               k = random_floats(
                                   static_cast<std::size_t>(kTokens * kBatch * kv * kWidth), 2),
                               v = random_floats(k.size(), 3);
      std::vector<float> expected;
      for (const int degree : {1, tp}) {
        Split s(attention(), inputs, degree, attributes);
        const std::int64_t q_width = kHeads / degree * kWidth;
        for (int rank = 0; rank < degree; ++rank) {
          const std::int64_t kv_width = std::max<std::int64_t>(1, kv / degree) * kWidth;
          const std::int64_t kv_first = rank * kv / degree * kWidth;
          std::vector<float> my_q = columns(q, kHeads * kWidth, rank * q_width, q_width),
                             my_k = columns(k, kv * kWidth, kv_first, kv_width),
                             my_v = columns(v, kv * kWidth, kv_first, kv_width), y(my_q.size()),
                             statistics(my_q.size());
          const TensorView in[] = {s.in(0, my_q.data()), s.in(1, my_k.data()),
                                   s.in(2, my_v.data())};
          const TensorView out[] = {s.out(y.data())};
          const FactView facts[] = {{"statistics", statistics.data(), DType::F32, Bytes{}}};
          KernelCall call = s.call(rank);
          call.inputs = in, call.outputs = out, call.facts = facts;
          run_kernel(call, Pass::Forward);
          if (degree == 1)
            expected = y;
          else
            EXPECT_EQ(columns(expected, kHeads * kWidth, rank * q_width, q_width), y)
                << kv << " key heads over " << tp;
        }
        if (tp == 1) break;
      }
    }
}

}  // namespace
}  // namespace trainyard

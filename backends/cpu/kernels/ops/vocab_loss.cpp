#include "backends/cpu/kernels/ops/vocab_loss.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "backends/cpu/kernels/convert.h"
#include "backends/cpu/kernels/operands.h"
#include "backends/cpu/kernels/ops/softmax.h"
#include "backends/cpu/kernels/vectorised.h"

namespace trainyard {
namespace {

TRAINYARD_VECTORISED float largest_logit(std::int64_t n, const float* x) {
  return largest_of(n, x);
}
// Computes exponentials relative to `most`, times `share`; returns their sum without `share`.
TRAINYARD_VECTORISED float relative(std::int64_t n, const float* x, float most, float share,
                                    float* y) {
  const float total = exponentials(n, x, 1, most, y);
  each_lane(n, y, false, [share](Lanes v) TRAINYARD_INLINED { return v * share; }, y);
  return total;
}

const float* as_floats(const KernelCall& call, const TensorView& v) {
  if (v.type == DType::F32) return v.f32();
  float* floats = call.scratch.floats(v.elements());
  to_floats(v.data, v.type, floats, v.elements());
  return floats;
}

}  // namespace

VocabRange vocab_range(const KernelCall& call, std::int64_t columns) {
  const std::int64_t all = call.graph[call.node.inputs[0]].shape.back().size;
  if (columns >= all) return {0, columns, false};
  const std::int64_t first = std::min(all, call.tensor_rank * columns);
  return {first, std::min(all, first + columns), true};
}

double loss_divisor(const KernelCall& call, std::int64_t rows) {
  return call.documents != nullptr ? call.documents->counted / call.sequence.ranks
                                   : static_cast<double>(rows);
}

void vocab_statistics(const KernelCall& call, float* statistics) {
  const Scratch::Frame frame(call.scratch);
  const TensorView &logits = input(call, 0), &labels = input(call, 1);
  const std::int64_t columns = width(logits);
  const VocabRange range = vocab_range(call, columns);
  const std::int64_t n = range.last - range.first;
  const float* x = as_floats(call, logits);
  float* row = call.scratch.floats(columns);
  for (std::int64_t r = 0; r < rows(logits); ++r, x += columns, statistics += kVocabStatistics) {
    const std::int64_t label = labels.i64()[r];
    statistics[0] = n > 0 ? largest_logit(n, x) : std::numeric_limits<float>::lowest();
    statistics[1] = n > 0 ? relative(n, x, statistics[0], 1, row) : 0;
    statistics[2] = label >= range.first && label < range.last ? x[label - range.first] : 0;
  }
}

void combine_vocab_statistics(std::span<const float* const> by_rank, std::int64_t rows,
                              float* combined) {
  for (std::int64_t i = 0; i < rows * kVocabStatistics; i += kVocabStatistics) {
    float most = std::numeric_limits<float>::lowest(), total = 0, chosen = 0;
    for (const float* s : by_rank) most = std::max(most, s[i]);
    for (const float* s : by_rank) {
      total += s[i + 1] * std::exp(s[i] - most);
      chosen += s[i + 2];
    }
    combined[i] = most, combined[i + 1] = total, combined[i + 2] = chosen;
  }
}

void vocab_loss(const KernelCall& call, const float* combined) {
  const Scratch::Frame frame(call.scratch);
  const TensorView &logits = input(call, 0), &labels = input(call, 1);
  const std::int64_t columns = width(logits), count = rows(logits);
  const VocabRange range = vocab_range(call, columns);
  const std::int64_t n = range.last - range.first;
  const float* x = as_floats(call, logits);
  auto* softmax = static_cast<float*>(needed_fact(call, "softmax").data);
  double total = 0;
  for (std::int64_t r = 0; r < count; ++r, x += columns, softmax += columns) {
    if (is_padding(call, labels.i64()[r])) {
      std::fill(softmax, softmax + columns, 0.0f);
      continue;
    }
    const float* s = combined + r * kVocabStatistics;
    if (n > 0) relative(n, x, s[0], 1 / s[1], softmax);
    std::fill(softmax + n, softmax + columns, 0.0f);
    total += s[0] + std::log(s[1]) - s[2];
  }
  *output(call).f32() = static_cast<float>(total / loss_divisor(call, count));
}

}  // namespace trainyard

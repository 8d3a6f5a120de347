#include "visualizers/viewmodel/step_curve.h"

#include <algorithm>
#include <string>

#include "core/base/error.h"

namespace trainyard {
namespace {

using Count = std::int64_t;
constexpr std::size_t kSamplesInBlock = 16;
constexpr std::size_t kBlocksInNode = 4;

void widen(ValueRange& range, const ValueRange& by) {
  range.low = std::min(range.low, by.low);
  range.high = std::max(range.high, by.high);
}

ValueRange of_samples(const StepCurve& curve, std::size_t first, std::size_t last) {
  ValueRange range{curve.value[first], curve.value[first]};
  for (std::size_t i = first + 1; i < last; ++i) widen(range, {curve.value[i], curve.value[i]});
  return range;
}

std::size_t highest_sample(const StepCurve& curve, std::size_t first, std::size_t last) {
  std::size_t best = first;
  for (std::size_t i = first + 1; i < last; ++i)
    if (curve.value[i] > curve.value[best]) best = i;
  return best;
}

void index_blocks(StepCurve& curve) {
  const std::size_t samples = curve.value.size(), blocks = samples / kSamplesInBlock + 1;
  curve.levels.emplace_back().reserve(blocks);
  curve.highest.emplace_back().reserve(blocks);
  curve.block_at.reserve(blocks);
  for (std::size_t i = 0; i < samples; i += kSamplesInBlock) {
    const std::size_t end = std::min(samples, i + kSamplesInBlock);
    curve.levels.back().push_back(of_samples(curve, i, end));
    curve.highest.back().push_back(static_cast<std::uint32_t>(highest_sample(curve, i, end)));
    curve.block_at.push_back(curve.at[i]);
  }
}

// The level above the last.
void index_level(StepCurve& curve) {
  const std::vector<ValueRange>& below = curve.levels.back();
  const std::vector<std::uint32_t>& peaks_below = curve.highest.back();
  std::vector<ValueRange> ranges;
  std::vector<std::uint32_t> highest;
  ranges.reserve(below.size() / kBlocksInNode + 1);
  highest.reserve(below.size() / kBlocksInNode + 1);
  for (std::size_t i = 0; i < below.size(); i += kBlocksInNode) {
    ValueRange range = below[i];
    std::size_t best = i;
    for (std::size_t k = i + 1; k < std::min(below.size(), i + kBlocksInNode); ++k) {
      widen(range, below[k]);
      if (below[k].high > below[best].high) best = k;
    }
    ranges.push_back(range);
    highest.push_back(peaks_below[best]);
  }
  curve.levels.push_back(std::move(ranges));
  curve.highest.push_back(std::move(highest));
}

void index_curve(StepCurve& curve) {
  index_blocks(curve);
  while (curve.levels.back().size() > kBlocksInNode) index_level(curve);
}

struct Samples {
  std::size_t first, last;  // [first, last), never empty
};

Samples samples_in(const StepCurve& curve, Count from, Count to) {
  const std::size_t first = sample_at(curve, from);
  const auto end = static_cast<std::size_t>(std::lower_bound(curve.at.begin(), curve.at.end(), to) -
                                            curve.at.begin());
  return {first, std::max(first + 1, end)};
}

ValueRange of_nodes(const StepCurve& curve, std::size_t level, std::size_t first,
                    std::size_t last) {
  ValueRange range = curve.levels[level][first];
  for (std::size_t i = first + 1; i < last; ++i) widen(range, curve.levels[level][i]);
  return range;
}

// Start of part i of `count`; exact and monotone for any width.
Count part_start(Count from, Count width, int count, int i) {
  const Count whole = width / count, rest = width % count;
  return from + whole * i + rest * i / count;
}

// The block of 16 in effect at t, looked for from block `hint` on with the given stride.
std::size_t block_at(const StepCurve& curve, Count t, std::size_t hint, std::size_t stride) {
  const std::vector<Count>& starts = curve.block_at;
  std::size_t low = hint, high = hint + std::max<std::size_t>(1, stride);
  while (high < starts.size() && starts[high] <= t) {
    low = high;
    stride = 2 * std::max<std::size_t>(1, stride);
    high = low + stride;
  }
  high = std::min(high, starts.size());
  const auto after = std::upper_bound(starts.begin() + static_cast<std::ptrdiff_t>(low),
                                      starts.begin() + static_cast<std::ptrdiff_t>(high), t);
  return after == starts.begin() ? 0 : static_cast<std::size_t>(after - starts.begin()) - 1;
}

std::size_t highest_of_nodes(const StepCurve& curve, std::size_t level, std::size_t first,
                             std::size_t last) {
  const std::vector<ValueRange>& ranges = curve.levels[level];
  std::size_t best = first;
  for (std::size_t i = first + 1; i < last; ++i)
    if (ranges[i].high > ranges[best].high) best = i;
  return curve.highest[level][best];
}

// As of_samples, through the index.
ValueRange range_between(const StepCurve& curve, std::size_t first_sample,
                         std::size_t last_sample) {
  Samples part{first_sample, last_sample};
  ValueRange range{curve.value[part.first], curve.value[part.first]};
  while (part.first < part.last && part.first % kSamplesInBlock != 0)
    widen(range, of_samples(curve, part.first, part.first + 1)), ++part.first;
  while (part.first < part.last && part.last % kSamplesInBlock != 0)
    --part.last, widen(range, of_samples(curve, part.last, part.last + 1));
  std::size_t first = part.first / kSamplesInBlock, last = part.last / kSamplesInBlock;
  for (std::size_t level = 0; first < last;
       ++level, first /= kBlocksInNode, last /= kBlocksInNode) {
    const bool top = level + 1 == curve.levels.size();
    while (first < last && (top || first % kBlocksInNode != 0))
      widen(range, curve.levels[level][first++]);
    while (first < last && last % kBlocksInNode != 0) widen(range, curve.levels[level][--last]);
  }
  return range;
}

// As highest_sample, through the finest level of the index.
std::size_t highest_between(const StepCurve& curve, std::size_t first, std::size_t last) {
  const std::size_t low = (first + kSamplesInBlock - 1) / kSamplesInBlock;
  const std::size_t high = last / kSamplesInBlock;
  if (low >= high) return highest_sample(curve, first, last);
  std::size_t best = first;
  const auto consider = [&](std::size_t sample) {
    if (curve.value[sample] > curve.value[best]) best = sample;
  };
  if (first < low * kSamplesInBlock) consider(highest_sample(curve, first, low * kSamplesInBlock));
  consider(highest_of_nodes(curve, 0, low, high));
  if (high * kSamplesInBlock < last) consider(highest_sample(curve, high * kSamplesInBlock, last));
  return best;
}

// The last sample from `sample` on that begins before `end`.
std::size_t last_before(const StepCurve& curve, std::size_t sample, Count end) {
  std::size_t block = sample / kSamplesInBlock;
  while (block + 1 < curve.block_at.size() && curve.block_at[block + 1] < end) ++block;
  sample = std::max(sample, block * kSamplesInBlock);
  const std::size_t stop = std::min(curve.at.size(), (block + 1) * kSamplesInBlock);
  while (sample + 1 < stop && curve.at[sample + 1] < end) ++sample;
  return sample;
}

// Many samples a part: whole nodes, of the level that puts 4 to 16 of them into a part. Calls
// visit(level, first, last).
template <class Visit>
void coarse_parts(const StepCurve& curve, Count from, Count width, int count, std::size_t density,
                  const Visit& visit) {
  std::size_t level = 0, node_blocks = 1;
  while (level + 1 < curve.levels.size() &&
         density >= 4 * kSamplesInBlock * node_blocks * kBlocksInNode)
    ++level, node_blocks *= kBlocksInNode;
  std::size_t block = block_at(curve, from, 0, curve.block_at.size() / 2),
              stride = density / kSamplesInBlock;
  for (int i = 0; i < count; ++i) {
    const std::size_t next =
        block_at(curve, part_start(from, width, count, i + 1) - 1, block, stride);
    stride = std::max<std::size_t>(1, next - block);
    visit(level, block / node_blocks, next / node_blocks + 1);
    block = next;
  }
}

// Calls visit(first, last) with the samples in effect within each part.
template <class Visit>
void exact_parts(const StepCurve& curve, Count from, Count width, int count, const Visit& visit) {
  std::size_t sample = sample_at(curve, from);
  for (int i = 0; i < count; ++i) {
    const Count end = part_start(from, width, count, i + 1);
    const std::size_t first = sample;
    sample = last_before(curve, sample, end);
    visit(first, sample + 1);
    if (sample + 1 < curve.at.size() && curve.at[sample + 1] == end) ++sample;
  }
}

// Asks `by_nodes` or `by_samples` for each of the equal parts of [from, to), as many as it takes to
// be quick.
template <class ByNodes, class BySamples>
void each_part(const StepCurve& curve, Instant from, Instant to, int count, const ByNodes& by_nodes,
               const BySamples& by_samples) {
  const Count width = std::max<Count>(1, to.count() - from.count());
  const Samples all = samples_in(curve, from.count(), from.count() + width);
  const std::size_t density = (all.last - all.first) / static_cast<std::size_t>(count);
  if (density >= 4 * kSamplesInBlock)
    coarse_parts(curve, from.count(), width, count, density, by_nodes);
  else
    exact_parts(curve, from.count(), width, count, by_samples);
}

}  // namespace

std::size_t sample_at(const StepCurve& curve, std::int64_t t) {
  const auto after = std::upper_bound(curve.at.begin(), curve.at.end(), t);
  return after == curve.at.begin() ? 0 : static_cast<std::size_t>(after - curve.at.begin()) - 1;
}

StepCurve step_curve(std::vector<Count> at, std::vector<Count> value) {
  if (at.empty() || at.size() != value.size())
    throw Error(Error::Kind::InvalidInput,
                "a curve needs as many values as times and at least one; found " +
                    std::to_string(value.size()) + " values and " + std::to_string(at.size()) +
                    " times");
  for (std::size_t i = 1; i < at.size(); ++i)
    if (at[i] <= at[i - 1])
      throw Error(Error::Kind::InvalidInput, "the times of a curve must increase",
                  {"sample " + std::to_string(i)});
  StepCurve curve;
  curve.at = std::move(at);
  curve.value = std::move(value);
  curve.peak = static_cast<std::size_t>(std::max_element(curve.value.begin(), curve.value.end()) -
                                        curve.value.begin());
  index_curve(curve);
  return curve;
}

Count value_at(const StepCurve& curve, Instant t) {
  return curve.value[sample_at(curve, t.count())];
}

ValueRange range_of(const StepCurve& curve, Instant from, Instant to) {
  const Samples part = samples_in(curve, from.count(), to.count());
  return range_between(curve, part.first, part.last);
}

void ranges_of(const StepCurve& curve, Instant from, Instant to, int count,
               std::vector<ValueRange>& out) {
  out.clear();
  if (count <= 0) return;
  out.reserve(static_cast<std::size_t>(count));
  each_part(
      curve, from, to, count,
      [&](std::size_t level, std::size_t first, std::size_t last) {
        out.push_back(of_nodes(curve, level, first, last));
      },
      [&](std::size_t first, std::size_t last) {
        out.push_back(range_between(curve, first, last));
      });
}

void highest_of(const StepCurve& curve, Instant from, Instant to, int count,
                std::vector<std::size_t>& out) {
  out.clear();
  if (count <= 0) return;
  out.reserve(static_cast<std::size_t>(count));
  each_part(
      curve, from, to, count,
      [&](std::size_t level, std::size_t first, std::size_t last) {
        out.push_back(highest_of_nodes(curve, level, first, last));
      },
      [&](std::size_t first, std::size_t last) {
        out.push_back(highest_between(curve, first, last));
      });
}

}  // namespace trainyard

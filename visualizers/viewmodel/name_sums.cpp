#include "visualizers/viewmodel/name_sums.h"

#include <algorithm>
#include <array>

#include "visualizers/drawing/in_parallel.h"
#include "visualizers/viewmodel/cover.h"
#include "visualizers/viewmodel/length_histogram.h"

namespace trainyard {
namespace {

constexpr std::uint32_t kMostNames = 64;  // of a block that is summed
using Lengths = std::array<std::uint16_t, kBuckets<kSummedBits>>;

// Sums one row, block after block.
class RowSummer {
 public:
  RowSummer(const SpanStore& store, const SpanRow& row, NameSums::Row& to)
      : store_(store),
        row_(row),
        to_(to),
        cover_(store, row.covered_by, Instant{-kFarthest}, Instant{kFarthest}) {}

  void run(const std::stop_token& stop) {
    for (std::uint32_t first = 0; first < row_.count && !stop.stop_requested();
         first += kSummedSpans) {
      to_.blocks.push_back(static_cast<std::uint32_t>(to_.sums.size()));
      const std::uint32_t last = std::min(row_.count, first + kSummedSpans);
      std::uint32_t i = first;
      while (i < last && add(row_.first + i)) ++i;
      close(to_.blocks.back());
      if (i < last) to_.sums.resize(to_.blocks.back());
    }
    to_.blocks.push_back(static_cast<std::uint32_t>(to_.sums.size()));
    to_.sums.shrink_to_fit();
    to_.counts.shrink_to_fit();
  }

 private:
  static constexpr std::int64_t kFarthest = std::int64_t{1} << 62;

  // False: there are too many names.
  bool add(std::size_t span) {
    const std::int64_t start = store_.start[span], length = store_.end[span] - start;
    const std::uint32_t place = place_of(store_.name[span], store_.category[span]);
    if (place == kMostNames) return false;
    NameSum& sum = to_.sums[to_.blocks.back() + place];
    const std::int64_t hidden = row_.covered_by == kNoRow ? 0 : cover_.busy(start, start + length);
    sum.shortest = sum.count == 0 ? length : std::min(sum.shortest, length);
    sum.longest = std::max(sum.longest, length);
    ++sum.count;
    sum.sum += length;
    sum.self += length - hidden;
    ++lengths_[place][bucket_of<kSummedBits>(length)];
    return true;
  }

  // Where in the block the name has its sum, or kMostNames.
  std::uint32_t place_of(std::uint32_t name, std::uint8_t category) {
    const auto first = to_.blocks.back();
    const auto found = std::find_if(
        to_.sums.begin() + first, to_.sums.end(),
        [&](const NameSum& sum) { return sum.name == name && sum.category == category; });
    const auto place = static_cast<std::uint32_t>(found - to_.sums.begin()) - first;
    if (found != to_.sums.end() || place == kMostNames) return place;
    NameSum made;
    made.name = name;
    made.category = category;
    to_.sums.push_back(made);
    if (lengths_.size() <= place) lengths_.emplace_back();
    return place;
  }

  // Keeps the counts of the block that ends.
  void close(std::uint32_t first) {
    for (std::uint32_t i = first; i < to_.sums.size(); ++i) {
      NameSum& sum = to_.sums[i];
      sum.first_count = static_cast<std::uint32_t>(to_.counts.size());
      Lengths& lengths = lengths_[i - first];
      const std::size_t last = bucket_of<kSummedBits>(sum.longest);
      for (std::size_t b = bucket_of<kSummedBits>(sum.shortest); b <= last; ++b) {
        if (lengths[b] == 0) continue;
        to_.counts.push_back({static_cast<std::uint16_t>(b), lengths[b]});
        lengths[b] = 0;
      }
      sum.counts = static_cast<std::uint32_t>(to_.counts.size()) - sum.first_count;
    }
  }

  const SpanStore& store_;
  const SpanRow& row_;
  NameSums::Row& to_;
  Cover cover_;
  std::vector<Lengths> lengths_;  // of the block's sums; all zero between blocks
};

}  // namespace

NameSums sum_names(const SpanStore& store, const std::stop_token& stop) {
  NameSums sums;
  sums.rows.resize(store.rows.size());
  in_parallel(store.rows.size(), [&](std::size_t row) {
    RowSummer(store, store.rows[row], sums.rows[row]).run(stop);
  });
  return sums;
}

std::size_t resident_bytes(const NameSums& sums) {
  std::size_t bytes = sums.rows.capacity() * sizeof(NameSums::Row);
  for (const NameSums::Row& row : sums.rows)
    bytes += row.blocks.capacity() * sizeof(std::uint32_t) + row.sums.capacity() * sizeof(NameSum) +
             row.counts.capacity() * sizeof(LengthCount);
  return bytes;
}

}  // namespace trainyard

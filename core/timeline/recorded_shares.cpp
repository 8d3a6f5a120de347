// This file computes where the time of the processes of a recorded trace went.
#include <algorithm>
#include <cstddef>
#include <utility>

#include "core/base/saturating.h"
#include "core/timeline/recorded_trace.h"

namespace trainyard {
namespace {

// At each instant only one layer of streams counts: computation hides the others, and communication
// hides copies.
enum Layer : std::uint8_t { ComputeLayer, CommLayer, CopyLayer };
constexpr std::size_t kLayers = 3;

Layer layer_of(RecordedKind kind) {
  if (kind == RecordedKind::Communication) return CommLayer;
  return kind == RecordedKind::Transfer ? CopyLayer : ComputeLayer;
}

struct LayerStretch {
  std::int64_t from = 0, to = 0;  // half-open, not empty
};
// Stretches are in order and do not touch each other.
using Stretches = std::vector<LayerStretch>;

// Adds a stretch that begins no earlier than all before it.
void append(Stretches& all, LayerStretch next) {
  if (!all.empty() && next.from <= all.back().to)
    all.back().to = std::max(all.back().to, next.to);
  else
    all.push_back(next);
}

Stretches united(const Stretches& a, const Stretches& b) {
  Stretches all;
  auto left = a.begin(), right = b.begin();
  while (left != a.end() || right != b.end()) {
    const bool take_left = right == b.end() || (left != a.end() && left->from <= right->from);
    append(all, take_left ? *left++ : *right++);
  }
  return all;
}

std::int64_t length(const Stretches& all) {
  std::int64_t sum = 0;
  for (const LayerStretch& each : all) sum += each.to - each.from;
  return sum;
}

// Busy finds when at least one of many rows is busy. Rows are united in pairs, pairs of pairs and
// so on: because united rows soon leave few gaps, this is quicker than sorting all beginnings and
// ends.
class Busy {
 public:
  void add(Stretches row) {
    if (row.empty()) return;
    for (std::size_t rows = ++rows_; rows % 2 == 0; rows /= 2) {
      row = united(pending_.back(), row);
      pending_.pop_back();
    }
    pending_.push_back(std::move(row));
  }
  /// Returns a part of all(), the union of the most rows so far; it is valid until the next row is
  /// added.
  const Stretches& most() const {
    static const Stretches none;
    return pending_.empty() ? none : pending_.front();
  }
  Stretches all() const {
    Stretches sum;
    for (auto each = pending_.rbegin(); each != pending_.rend(); ++each) sum = united(*each, sum);
    return sum;
  }

 private:
  std::size_t rows_ = 0;
  std::vector<Stretches> pending_;  // unions of ever fewer rows, powers of two
};

// Returns the first element of the ascending [at, end) for which `before` does not hold. This is
// cheap where it is near.
template <class T, class Before>
const T* skip(const T* at, const T* end, const Before& before) {
  std::ptrdiff_t step = 1;
  while (step <= end - at && before(at[step - 1])) {
    at += step;
    step *= 2;
  }
  return std::partition_point(at, at + std::min(end - at, step - 1), before);
}

// Within finds which of the known stretches contains a given one, for queries in ascending order.
class Within {
 public:
  explicit Within(const Stretches& known) : at_(known.data()), end_(at_ + known.size()) {}
  /// Returns the stretch that contains `asked`, or null.
  const LayerStretch* holder(LayerStretch asked) {
    at_ = skip(at_, end_, [&](const LayerStretch& known) { return known.to < asked.to; });
    return at_ != end_ && at_->from <= asked.from ? at_ : nullptr;
  }

 private:
  const LayerStretch* at_;
  const LayerStretch* end_;
};

// Touched are the spans of a row that touch the range: indices [first, last) of the trace's arrays.
struct Touched {
  std::size_t first = 0, last = 0;
};
Touched touched(const RecordedTrace& trace, const RecordedRow& row, std::int64_t from,
                std::int64_t to) {
  const std::int64_t* const start = trace.start.data() + row.first;
  const std::int64_t* const end = trace.end.data() + row.first;
  // Ends ascend like starts, because spans do not overlap.
  const std::int64_t* low = std::upper_bound(end, end + row.count, from);
  while (low != end && start[low - end - 1] >= from)
    --low;  // includes markers of zero length at `from`
  const std::int64_t* const high = std::lower_bound(start + (low - end), start + row.count, to);
  return {row.first + static_cast<std::size_t>(low - end),
          row.first + static_cast<std::size_t>(high - start)};
}

using KindTimes = std::array<std::int64_t, kRecordedKinds>;

// Sums the spans by kind within the range; only the first and the last may extend beyond it.
KindTimes times_of(const RecordedTrace& trace, Touched spans, std::int64_t from, std::int64_t to) {
  KindTimes times{};
  if (spans.first == spans.last) return times;
  KindTimes odd{};  // a second sum, so that consecutive additions do not wait for each other
  std::size_t i = spans.first;
  for (; i + 1 < spans.last; i += 2) {
    times[trace.category[i]] += trace.end[i] - trace.start[i];
    odd[trace.category[i + 1]] += trace.end[i + 1] - trace.start[i + 1];
  }
  if (i < spans.last) times[trace.category[i]] += trace.end[i] - trace.start[i];
  for (std::size_t k = 0; k < kRecordedKinds; ++k) times[k] += odd[k];
  const std::size_t last = spans.last - 1;
  times[trace.category[spans.first]] -= std::max<std::int64_t>(0, from - trace.start[spans.first]);
  times[trace.category[last]] -= std::max<std::int64_t>(0, trace.end[last] - to);
  return times;
}

// Covers collects when the streams of a process are busy with what, row by row.
class Covers {
 public:
  explicit Covers(bool streams) : streams_(streams) {}

  /// Skips what earlier rows already cover: it changes nothing, and soon it is nearly everything.
  void add(const RecordedTrace& trace, Touched spans, std::int64_t from, std::int64_t to) {
    std::array<Within, kLayers> within = {Within(busy_[ComputeLayer].most()),
                                          Within(busy_[CommLayer].most()),
                                          Within(busy_[CopyLayer].most())};
    std::array<Stretches, kLayers> layers;
    const std::int64_t* ends = trace.end.data();
    for (std::size_t i = spans.first; i < spans.last;) {
      const LayerStretch span{std::max(trace.start[i], from), std::min(trace.end[i], to)};
      // Computation hides everything that runs beside it.
      if (const LayerStretch* hides = within[ComputeLayer].holder(span)) {
        const auto hidden = [&](std::int64_t end) { return end <= hides->to; };
        i = static_cast<std::size_t>(skip(ends + i + 1, ends + spans.last, hidden) - ends);
        continue;
      }
      const auto kind = static_cast<RecordedKind>(trace.category[i++]);
      if (span.from >= span.to || (streams_ && kind == RecordedKind::Host)) continue;
      const Layer layer = layer_of(kind);
      if (layer == ComputeLayer || within[layer].holder(span) == nullptr)
        append(layers[layer], span);
    }
    for (std::size_t i = 0; i < kLayers; ++i) busy_[i].add(std::move(layers[i]));
  }

  void divide_time(Duration whole, RecordedShare& share) const {
    const Stretches compute = busy_[ComputeLayer].all();
    const Stretches shown = united(compute, busy_[CommLayer].all());
    const Duration computes{length(compute)}, either{length(shown)},
        any{length(united(shown, busy_[CopyLayer].all()))};
    share.compute = computes;
    share.communication = either - computes;
    share.transfer = any - either;
    share.idle = whole - any;
  }

 private:
  bool streams_;
  std::array<Busy, kLayers> busy_;
};

}  // namespace

std::vector<RecordedShare> recorded_shares(const RecordedTrace& trace, Instant from, Instant to) {
  const bool streams = std::any_of(trace.threads.begin(), trace.threads.end(),
                                   [](const RecordedThread& t) { return t.device; });
  std::vector<RecordedShare> shares(trace.processes.size());
  std::vector<Covers> covers(trace.processes.size(), Covers(streams));
  std::vector<bool> seen(trace.processes.size());
  for (const RecordedRow& row : trace.rows) {
    const RecordedThread& thread = trace.threads[row.thread];
    if (thread.device != streams) continue;
    RecordedShare& share = shares[thread.process];
    seen[thread.process] = seen[thread.process] || row.count > 0;
    const Touched spans = touched(trace, row, from.count(), to.count());
    share.spans += spans.last - spans.first;
    const KindTimes times = times_of(trace, spans, from.count(), to.count());
    for (std::size_t k = 0; k < kRecordedKinds; ++k)
      share.busy[k] = saturating_sum(share.busy[k], Duration{times[k]});
    covers[thread.process].add(trace, spans, from.count(), to.count());
  }
  std::vector<RecordedShare> found;
  for (std::uint32_t p = 0; p < shares.size(); ++p) {
    if (!seen[p]) continue;
    shares[p].process = p;
    covers[p].divide_time(to - from, shares[p]);
    found.push_back(shares[p]);
  }
  return found;
}

}  // namespace trainyard

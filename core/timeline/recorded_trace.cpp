#include "core/timeline/recorded_trace.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string_view>

#include "core/base/error.h"
#include "core/base/saturating.h"

namespace trainyard {
namespace {

constexpr std::int64_t kFarthest = kFarthestRecorded.count();

[[noreturn]] void refuse(const RecordedTrace& trace, const std::string& sentence) {
  throw Error(Error::Kind::InvalidInput, sentence, {trace.source});
}

void check_row(const RecordedTrace& trace, const RecordedRow& row, std::size_t number) {
  const auto bad = [&](const char* expected) {
    refuse(trace, std::string("expected ") + expected + ", found otherwise in row " +
                      std::to_string(number));
  };
  if (row.thread >= trace.threads.size()) bad("a thread of the list");
  if (row.first > trace.start.size() || row.count > trace.start.size() - row.first)
    bad("spans of the list");
  std::int64_t before = -kFarthest;
  const std::size_t names = trace.names.size();
  bool fine = true;
  for (std::uint64_t i = row.first; i < row.first + row.count; ++i) {
    fine = fine && trace.start[i] >= before && trace.end[i] >= trace.start[i] &&
           trace.name[i] < names && trace.category[i] < kRecordedKinds;
    before = trace.end[i];
  }
  if (!fine || before > kFarthest)
    bad("spans in order, side by side, with names and kinds of the lists");
}

void check_counter(const RecordedTrace& trace, const RecordedCounter& counter) {
  bool fine = counter.process < trace.processes.size() && counter.at.size() == counter.value.size();
  for (std::size_t i = 0; fine && i < counter.at.size(); ++i)
    fine = std::isfinite(counter.value[i]) && (i == 0 || counter.at[i] > counter.at[i - 1]) &&
           std::abs(counter.at[i] / 2) <= kFarthest / 2;
  if (!fine) refuse(trace, "expected counters that increase in time, with finite values");
}

// What streams do at an instant counts once: computing hides the rest, communication hides copies.
enum Layer : std::uint8_t { Compute, Comm, Copy };
constexpr std::size_t kLayers = 3;

Layer layer_of(RecordedKind kind) {
  if (kind == RecordedKind::Communication) return Comm;
  return kind == RecordedKind::Transfer ? Copy : Compute;
}

struct Stretch {
  std::int64_t from = 0, to = 0;  // half-open, not empty
};
// In order, apart from each other.
using Stretches = std::vector<Stretch>;

// One that begins no sooner than all before.
void append(Stretches& all, Stretch next) {
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
  for (const Stretch& each : all) sum += each.to - each.from;
  return sum;
}

// When at least one of many rows is busy. Rows are united in pairs, pairs of pairs and so on, since
// busy rows soon leave few gaps: quicker than to sort all that begins and ends.
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
  /// A part of all(), that of most rows at once; until the next row is added.
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
  std::vector<Stretches> pending_;  // of ever fewer rows, powers of two
};

// Whether stretches that are asked for in order lie within one of those that are known.
class Within {
 public:
  explicit Within(const Stretches& known) : at_(known.data()), end_(at_ + known.size()) {}
  bool holds(Stretch asked) {
    while (at_ != end_ && at_->to < asked.to) ++at_;
    return at_ != end_ && at_->from <= asked.from;
  }

 private:
  const Stretch* at_;
  const Stretch* end_;
};

void divide_time(const std::array<Busy, kLayers>& busy, Duration whole, RecordedShare& share) {
  const Stretches compute = busy[Compute].all();
  const Stretches shown = united(compute, busy[Comm].all());
  const Duration computes{length(compute)}, either{length(shown)},
      any{length(united(shown, busy[Copy].all()))};
  share.compute = computes;
  share.communication = either - computes;
  share.transfer = any - either;
  share.idle = whole - any;
}

}  // namespace

const char* to_string(RecordedKind kind) {
  constexpr std::array<const char*, kRecordedKinds> kNames = {
      "forward",       "backward",  "weight gradient", "recompute",
      "communication", "optimizer", "transfer",        "host"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::string describe(const TraceDefect& defect) {
  std::string text = defect.line > 0 ? "line " + std::to_string(defect.line)
                                     : "byte " + std::to_string(defect.offset);
  text += ": expected " + defect.expected + ", found " + defect.found;
  if (defect.count > 1) text += " (" + std::to_string(defect.count) + " times)";
  if (!defect.assumed.empty()) text += "; " + defect.assumed;
  return text;
}

Instant end_of(const RecordedTrace& trace) {
  std::int64_t end = 1;
  for (const RecordedRow& row : trace.rows)
    if (row.count > 0) end = std::max(end, trace.end[row.first + row.count - 1]);
  for (const RecordedCounter& counter : trace.counters)
    if (!counter.at.empty()) end = std::max(end, counter.at.back());
  return Instant{end};
}

RecordedPart recorded_part(const RecordedTrace& trace) {
  if (trace.part) return *trace.part;
  const Instant end = end_of(trace);
  return {Instant{0}, end, end};
}

std::vector<RecordedShare> recorded_shares(const RecordedTrace& trace, Instant from, Instant to) {
  const bool streams = std::any_of(trace.threads.begin(), trace.threads.end(),
                                   [](const RecordedThread& t) { return t.device; });
  std::vector<RecordedShare> shares(trace.processes.size());
  std::vector<std::array<Busy, kLayers>> busy(trace.processes.size());
  std::vector<bool> seen(trace.processes.size());
  for (const RecordedRow& row : trace.rows) {
    const RecordedThread& thread = trace.threads[row.thread];
    if (thread.device != streams) continue;
    RecordedShare& share = shares[thread.process];
    seen[thread.process] = seen[thread.process] || row.count > 0;
    // What rows before have covered is left out here: it changes nothing, and soon it is nearly
    // all.
    std::array<Busy, kLayers>& known = busy[thread.process];
    std::array<Within, kLayers> within = {Within(known[Compute].most()), Within(known[Comm].most()),
                                          Within(known[Copy].most())};
    std::array<Stretches, kLayers> layers;
    for (std::uint64_t i = row.first; i < row.first + row.count; ++i) {
      const std::int64_t low = std::max(trace.start[i], from.count());
      const std::int64_t high = std::min(trace.end[i], to.count());
      if (low > high || trace.start[i] >= to.count() || trace.end[i] < from.count()) continue;
      ++share.spans;
      Duration& of_kind = share.busy[trace.category[i]];
      of_kind = saturating_sum(of_kind, Duration{high - low});
      const auto kind = static_cast<RecordedKind>(trace.category[i]);
      if (low == high || (streams && kind == RecordedKind::Host)) continue;
      const Layer layer = layer_of(kind);
      if (!within[layer].holds({low, high})) append(layers[layer], {low, high});
    }
    for (std::size_t i = 0; i < kLayers; ++i) known[i].add(std::move(layers[i]));
  }
  std::vector<RecordedShare> found;
  for (std::uint32_t p = 0; p < shares.size(); ++p) {
    if (!seen[p]) continue;
    shares[p].process = p;
    divide_time(busy[p], to - from, shares[p]);
    found.push_back(shares[p]);
  }
  return found;
}

Duration median_step(const RecordedTrace& trace) {
  std::vector<std::int64_t> lengths;
  for (std::size_t i = 0; i < trace.steps.size(); ++i) {
    const RecordedStep& step = trace.steps[i];
    const bool first = i == 0 || trace.steps[i - 1].process != step.process;
    const bool others = i + 1 < trace.steps.size() && trace.steps[i + 1].process == step.process;
    if (!first || !others) lengths.push_back((step.to - step.from).count());
  }
  if (lengths.empty()) return {};
  const auto middle = lengths.begin() + static_cast<std::ptrdiff_t>(lengths.size() / 2);
  std::nth_element(lengths.begin(), middle, lengths.end());
  return Duration{*middle};
}

void check(const RecordedTrace& trace) {
  const std::size_t spans = trace.start.size();
  if (trace.end.size() != spans || trace.name.size() != spans || trace.category.size() != spans)
    refuse(trace, "expected one start, end, name and kind a span");
  for (const RecordedThread& thread : trace.threads)
    if (thread.process >= trace.processes.size())
      refuse(trace, "expected threads of processes of the list");
  std::uint64_t next = 0;
  for (std::size_t i = 0; i < trace.rows.size(); ++i) {
    if (trace.rows[i].first != next) refuse(trace, "expected rows side by side");
    next += trace.rows[i].count;
    check_row(trace, trace.rows[i], i);
  }
  if (next != spans) refuse(trace, "expected every span in a row");
  for (const RecordedCounter& counter : trace.counters) check_counter(trace, counter);
  if (trace.part && (trace.part->from < Instant{0} || trace.part->to <= trace.part->from ||
                     trace.part->whole < trace.part->to || trace.part->whole > kFarthestRecorded))
    refuse(trace, "expected a part within the recording");
  for (const RecordedStep& step : trace.steps)
    if (step.process >= trace.processes.size() || step.to < step.from ||
        step.from.count() < -kFarthest || step.to.count() > kFarthest)
      refuse(trace, "expected steps of processes of the list that end after they start");
}

}  // namespace trainyard

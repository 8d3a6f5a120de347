#include "core/timeline/recorded_trace.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <future>
#include <limits>
#include <string_view>
#include <utility>

#include "core/base/error.h"

namespace trainyard {
namespace {

constexpr std::int64_t kFarthest = kFarthestRecorded.count();

[[noreturn]] void refuse_trace(const RecordedTrace& trace, const std::string& sentence) {
  throw Error(Error::Kind::InvalidInput, sentence, {trace.source});
}

void check_row(const RecordedTrace& trace, const RecordedRow& row, std::size_t number) {
  const auto bad = [&](const char* expected) {
    refuse_trace(trace, std::string("expected ") + expected + ", found otherwise in row " +
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

// Traces with millions of spans are checked in two halves in parallel.
void check_rows(const RecordedTrace& trace, std::size_t half) {
  constexpr std::size_t kMany = std::size_t{1} << 20;
  const auto check_some = [&](std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i) check_row(trace, trace.rows[i], i);
  };
  if (trace.start.size() < kMany) return check_some(0, trace.rows.size());
  auto beside = std::async(std::launch::async, check_some, 0, half);
  check_some(half, trace.rows.size());
  beside.get();
}

void check_counter(const RecordedTrace& trace, const RecordedCounter& counter) {
  bool fine = counter.process < trace.processes.size() && counter.at.size() == counter.value.size();
  for (std::size_t i = 0; fine && i < counter.at.size(); ++i)
    fine = std::isfinite(counter.value[i]) && (i == 0 || counter.at[i] > counter.at[i - 1]) &&
           std::abs(counter.at[i] / 2) <= kFarthest / 2;
  if (!fine) refuse_trace(trace, "expected counters that increase in time, with finite values");
}

void check_collectives(const RecordedTrace& trace) {
  for (const RecordedGroup& group : trace.groups)
    if (group.size < 2 ||
        (!group.ranks.empty() && static_cast<std::int64_t>(group.ranks.size()) != group.size))
      refuse_trace(trace, "expected groups of at least two ranks, which are all listed or none");
  for (const RecordedCollective& one : trace.collectives)
    if (one.process >= trace.processes.size() || one.group >= trace.groups.size() ||
        one.name >= trace.names.size() || one.bytes.value < 0 || one.to < one.from ||
        one.from.count() < -kFarthest || one.to.count() > kFarthest)
      refuse_trace(trace,
                   "expected collectives of processes, groups and names of the lists that end "
                   "after they start");
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

std::span<const RecordedStep> measured_steps(const RecordedTrace& trace, std::uint32_t process) {
  const auto from =
      std::partition_point(trace.steps.begin(), trace.steps.end(),
                           [&](const RecordedStep& step) { return step.process < process; });
  const auto to = std::partition_point(
      from, trace.steps.end(), [&](const RecordedStep& step) { return step.process == process; });
  const std::span<const RecordedStep> steps(from, to);
  return steps.size() > 1 ? steps.subspan(1) : steps;
}

Duration median_step(const RecordedTrace& trace) {
  std::vector<std::int64_t> lengths;
  for (std::uint32_t process = 0; process < trace.processes.size(); ++process)
    for (const RecordedStep& step : measured_steps(trace, process))
      lengths.push_back((step.to - step.from).count());
  if (lengths.empty()) return {};
  const auto middle = lengths.begin() + static_cast<std::ptrdiff_t>(lengths.size() / 2);
  std::nth_element(lengths.begin(), middle, lengths.end());
  return Duration{*middle};
}

void check(const RecordedTrace& trace) {
  const std::size_t spans = trace.start.size();
  if (trace.end.size() != spans || trace.name.size() != spans || trace.category.size() != spans)
    refuse_trace(trace, "expected one start, end, name and kind a span");
  if (!trace.sizes.empty() && trace.sizes.size() != spans)
    refuse_trace(trace, "expected the sizes of every span or of none");
  for (const std::uint32_t sizes : trace.sizes)
    if (sizes != kSizesNotStated && sizes >= trace.names.size())
      refuse_trace(trace, "expected sizes that are in the list of names");
  for (const RecordedThread& thread : trace.threads)
    if (thread.process >= trace.processes.size())
      refuse_trace(trace, "expected threads of processes of the list");
  std::uint64_t next = 0;
  std::size_t half = 0;  // the rows before it have about half of the spans
  for (std::size_t i = 0; i < trace.rows.size(); ++i) {
    if (trace.rows[i].first != next) refuse_trace(trace, "expected rows side by side");
    next += trace.rows[i].count;
    if (next <= spans / 2) half = i + 1;
  }
  if (next != spans) refuse_trace(trace, "expected every span in a row");
  check_rows(trace, half);
  for (const RecordedCounter& counter : trace.counters) check_counter(trace, counter);
  if (trace.part && (trace.part->from < Instant{0} || trace.part->to <= trace.part->from ||
                     trace.part->whole < trace.part->to || trace.part->whole > kFarthestRecorded))
    refuse_trace(trace, "expected a part within the recording");
  for (const RecordedStep& step : trace.steps)
    if (step.process >= trace.processes.size() || step.to < step.from ||
        step.from.count() < -kFarthest || step.to.count() > kFarthest)
      refuse_trace(trace, "expected steps of processes of the list that end after they start");
  if (!std::is_sorted(trace.steps.begin(), trace.steps.end(),
                      [](const RecordedStep& a, const RecordedStep& b) {
                        return std::pair(a.process, a.from) < std::pair(b.process, b.from);
                      }))
    refuse_trace(trace, "expected steps by process and start");
  check_collectives(trace);
}

}  // namespace trainyard

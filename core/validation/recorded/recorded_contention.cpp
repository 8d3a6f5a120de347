#include "core/validation/recorded/recorded_contention.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <utility>

#include "core/cost/kernel_times.h"
#include "core/validation/recorded/recorded_units.h"
#include "core/validation/recorded/trace_match.h"

namespace trainyard {
namespace {

std::map<std::uint32_t, RecordedSpans> busy_of(const std::vector<WorkSpan>& list) {
  std::map<std::uint32_t, RecordedSpans> busy;
  for (const WorkSpan& span : list) busy[span.process].emplace_back(span.from, span.to);
  for (auto& [process, spans] : busy) spans = joined_spans(std::move(spans));
  return busy;
}

std::int64_t beside(const std::map<std::uint32_t, RecordedSpans>& busy, const WorkSpan& span) {
  const auto own = busy.find(span.process);
  return own == busy.end() ? 0 : span.to - span.from - bare(own->second, span.from, span.to);
}

// Calls take(thread, index of a span) for the spans of streams that begin in a measured step.
template <class Take>
void for_spans_of_steps(const RecordedTrace& trace, const Take& take) {
  std::vector<std::span<const RecordedStep>> steps;
  for (std::uint32_t p = 0; p < trace.processes.size(); ++p)
    steps.push_back(measured_steps(trace, p));
  for (const RecordedRow& row : trace.rows) {
    const RecordedThread& thread = trace.threads[row.thread];
    if (!thread.device) continue;
    const std::span<const RecordedStep> own = steps[thread.process];
    for (std::uint64_t i = row.first; i < row.first + row.count; ++i)
      if (own.empty() || std::any_of(own.begin(), own.end(), [&](const RecordedStep& step) {
            return trace.start[i] >= step.from.count() && trace.start[i] < step.to.count();
          }))
        take(thread, i);
  }
}

// Times of work that is alike.
struct Compared {
  std::string_view of;
  std::vector<std::int64_t> beside, apart;
};

}  // namespace

std::vector<WorkSpan> computed_spans(const RecordedTrace& trace) {
  std::vector<std::string_view> kinds;  // by name
  for (const std::string& name : trace.names) {
    const auto family = family_of_kernel(name);
    kinds.push_back(family ? std::string_view(to_string(*family)) : kOtherWork);
  }
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> alike;  // by name and sizes
  std::vector<WorkSpan> found;
  for_spans_of_steps(trace, [&](const RecordedThread& thread, std::uint64_t i) {
    if (!computes(static_cast<RecordedKind>(trace.category[i]))) return;
    WorkSpan span{thread.process, trace.start[i], trace.end[i], kinds[trace.name[i]]};
    if (!trace.sizes.empty() && trace.sizes[i] != kSizesNotStated)
      span.alike = alike
                       .emplace(std::pair(trace.name[i], trace.sizes[i]),
                                static_cast<std::uint32_t>(alike.size()))
                       .first->second;
    found.push_back(span);
  });
  return found;
}

std::vector<WorkSpan> communicated_spans(const RecordedTrace& trace) {
  std::vector<WorkSpan> found;
  for_spans_of_steps(trace, [&](const RecordedThread& thread, std::uint64_t i) {
    if (static_cast<RecordedKind>(trace.category[i]) == RecordedKind::Communication)
      found.push_back({thread.process, trace.start[i], trace.end[i], kCommunicates});
  });
  return found;
}

RecordedContention::RecordedContention(const std::vector<WorkSpan>& computed,
                                       const std::vector<WorkSpan>& communicated)
    : computing_(busy_of(computed)), communicating_(busy_of(communicated)) {
  compare(computed, communicating_);
  compare(communicated, computing_);
  double took = 0, apart = 0;
  for (const MeasuredContention& m : measured_)
    if (m.of != kCommunicates) took += to_seconds(m.time) * m.factor, apart += to_seconds(m.time);
  if (apart > 0) any_ = took / apart;
}

void RecordedContention::compare(const std::vector<WorkSpan>& list, const Busy& other) {
  std::map<std::uint32_t, Compared> works;
  for (const WorkSpan& span : list) {
    if (span.alike == WorkSpan::kUnlike || span.to <= span.from) continue;
    const std::int64_t covered = beside(other, span), took = span.to - span.from;
    if (covered != 0 && covered != took) continue;
    Compared& work = works[span.alike];
    work.of = span.of;
    (covered == 0 ? work.apart : work.beside).push_back(took);
  }
  struct Sums {
    double beside = 0, apart = 0;       // ns
    std::vector<std::int64_t> factors;  // of single pieces, in millionths
  };
  constexpr double kMillion = 1e6;
  std::map<std::string_view, Sums> kinds;
  for (const auto& [alike, work] : works) {
    if (work.beside.size() < kFewest || work.apart.size() < kFewest) continue;
    const auto apart = static_cast<double>(quantile(work.apart, 0.5));
    const auto n = static_cast<double>(work.beside.size());
    Sums& sums = kinds[work.of];
    sums.beside += n * static_cast<double>(quantile(work.beside, 0.5)), sums.apart += n * apart;
    for (const std::int64_t took : work.beside)
      sums.factors.push_back(std::llround(kMillion * static_cast<double>(took) / apart));
  }
  for (const auto& [of, sums] : kinds) {
    const double factor = sums.beside / sums.apart;
    const auto range =
        static_cast<double>(quantile(sums.factors, 0.75) - quantile(sums.factors, 0.25));
    measured_.push_back({std::string(of), factor, range / 2 / kMillion / factor,
                         static_cast<std::int64_t>(sums.factors.size()),
                         Duration{std::llround(sums.apart)}});
    factors_[of] = factor;
  }
}

Duration RecordedContention::apart(const WorkSpan& span) const {
  const bool communicates = span.of == kCommunicates;
  const auto own = factors_.find(span.of);
  const double factor = std::max(1.0, own != factors_.end() ? own->second : any_);
  const auto covered =
      static_cast<double>(beside(communicates ? computing_ : communicating_, span));
  return Duration{span.to - span.from - std::llround(covered * (1 - 1 / factor))};
}

}  // namespace trainyard

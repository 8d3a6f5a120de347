#include "visualizers/recorded/recorded_model.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <tuple>
#include <utility>

#include "visualizers/viewmodel/format.h"
#include "visualizers/viewmodel/span_index.h"

namespace trainyard {
namespace {

SpanStore take_spans(RecordedTrace& trace) {
  SpanStore store;
  store.start = std::move(trace.start);
  store.end = std::move(trace.end);
  store.name = std::move(trace.name);
  store.category = std::move(trace.category);
  for (std::uint32_t i = 0; i < trace.rows.size(); ++i) {
    const RecordedRow& row = trace.rows[i];
    // The row beneath holds what a span has called.
    const bool nested = i + 1 < trace.rows.size() && trace.rows[i + 1].thread == row.thread;
    SpanRow made;
    made.first = row.first;
    made.count = row.count;
    made.covered_by = nested ? i + 1 : kNoRow;
    store.rows.push_back(made);
  }
  index_spans(store);
  return store;
}

// Counters of one group lie below each other: what tells them apart is enough.
std::string short_name(const std::string& counter) {
  const std::size_t colon = counter.find(": ");
  return colon == std::string::npos ? counter : counter.substr(colon + 2);
}

std::vector<RecordedLane> lanes_of(const RecordedTrace& trace) {
  std::vector<RecordedLane> lanes;
  std::vector<char> seen(trace.processes.size());
  const auto add_counters = [&](std::uint32_t process) {
    for (std::uint32_t c = 0; c < trace.counters.size(); ++c)
      if (trace.counters[c].process == process && !trace.counters[c].at.empty())
        lanes.push_back({process, 0, 0, 0, c, std::exchange(seen[process], 1) == 0,
                         short_name(trace.counters[c].name)});
  };
  for (std::uint32_t i = 0; i < trace.rows.size();) {
    const std::uint32_t thread = trace.rows[i].thread;
    const std::uint32_t process = trace.threads[thread].process;
    if (!lanes.empty() && lanes.back().process != process) add_counters(lanes.back().process);
    const std::uint32_t first = i;
    while (i < trace.rows.size() && trace.rows[i].thread == thread) ++i;
    lanes.push_back({process,
                     thread,
                     first,
                     i - first,
                     {},
                     std::exchange(seen[process], 1) == 0,
                     trace.threads[thread].name});
  }
  std::vector<bool> counted(trace.processes.size());
  for (const RecordedLane& lane : lanes)
    if (lane.counter) counted[lane.process] = true;
  for (std::uint32_t p = 0; p < trace.processes.size(); ++p)
    if (!counted[p]) add_counters(p);
  return lanes;
}

StepCurve curve_of(const RecordedCounter& counter) {
  std::vector<std::int64_t> values;
  for (const double value : counter.value)
    values.push_back(std::llround(std::clamp(value, -9e18, 9e18)));
  return counter.at.empty() ? StepCurve{} : step_curve(counter.at, std::move(values));
}

}  // namespace

std::shared_ptr<const RecordedModel> recorded_model(RecordedTrace trace) {
  auto model = std::make_shared<RecordedModel>();
  const RecordedPart all = recorded_part(trace);
  model->begin = all.from;
  model->end = all.to;
  model->shares = recorded_shares(trace, model->begin, model->end);
  model->step = median_step(trace);
  model->stragglers = find_stragglers(trace);
  model->spans = take_spans(trace);
  for (const RecordedCounter& counter : trace.counters) model->curves.push_back(curve_of(counter));
  model->lanes = lanes_of(trace);
  const bool streams = std::any_of(trace.threads.begin(), trace.threads.end(),
                                   [](const RecordedThread& t) { return t.device; });
  for (std::uint32_t i = 0; i < trace.rows.size(); ++i)
    if (!streams || trace.threads[trace.rows[i].thread].device) model->busy_rows.push_back(i);
  model->trace = std::move(trace);
  return model;
}

RecordedTrace whole_trace(const RecordedModel& model) {
  RecordedTrace trace = model.trace;
  trace.start = model.spans.start, trace.end = model.spans.end;
  trace.name = model.spans.name, trace.category = model.spans.category;
  return trace;
}

Ink ink_of(RecordedKind kind) {
  constexpr Ink kOfKinds[] = {Ink::Forward,   Ink::Backward,      Ink::WeightGradient,
                              Ink::Recompute, Ink::Communication, Ink::Optimizer,
                              Ink::Swap,      Ink::Raised};
  return kOfKinds[static_cast<std::size_t>(kind)];
}

RecordedPlace recorded_place(const RecordedModel& model, std::uint64_t span) {
  const auto after =
      std::upper_bound(model.spans.rows.begin(), model.spans.rows.end(), span,
                       [](std::uint64_t s, const SpanRow& row) { return s < row.first; });
  auto row = static_cast<std::uint32_t>(after - model.spans.rows.begin()) - 1;
  return {row, static_cast<std::uint32_t>(span - model.spans.rows[row].first)};
}

std::vector<NameStatistics> recorded_statistics(const RecordedModel& model, Instant from,
                                                Instant to) {
  return range_statistics(model.spans, model.busy_rows, from, to);
}

std::string spell_recorded(const RecordedModel& model) {
  const RecordedTrace& t = model.trace;
  const Duration length = model.end - model.begin;
  std::string text = "Recorded trace of " + spell_duration(length);
  if (t.part)
    text += ", from " + spell_duration(model.begin) + " on, of " + spell_duration(t.part->whole);
  text += ", " + std::to_string(model.spans.start.size()) + " spans";
  if (model.step > Duration{})
    text += ", " + spell_duration(model.step) + " per step, the median of " +
            std::to_string(t.steps.size());
  text += ".";
  for (const RecordedShare& share : model.shares) {
    const double whole = to_seconds(length);
    text += " " + t.processes[share.process].name + ": computes " +
            spell_percent(to_seconds(share.compute) / whole) + ", waits for communication " +
            spell_percent(to_seconds(share.communication) / whole) + ", idle " +
            spell_percent(to_seconds(share.idle) / whole) + ".";
  }
  return text;
}

}  // namespace trainyard

#include "core/io/documents/recorded_trace_json.h"

#include <algorithm>
#include <vector>

#include "core/timeline/stragglers.h"

namespace trainyard {
namespace {

struct TraceSheet {
  const RecordedTrace& trace;
  Instant from, to;
};

// Something of a trace, which knows its process by number.
template <class Part>
struct InTrace {
  const RecordedTrace& trace;
  const Part& part;
};

template <class Part>
std::vector<InTrace<Part>> all_in(const RecordedTrace& trace, const std::vector<Part>& parts) {
  std::vector<InTrace<Part>> list;
  for (const Part& part : parts) list.push_back({trace, part});
  return list;
}

template <class Part>
const RecordedProcess& process_of(const InTrace<Part>& of) {
  return of.trace.processes[of.part.process];
}

template <class Part>
JsonField<InTrace<Part>> process_name() {
  return {"process", [](const InTrace<Part>& of) { return process_of(of).name; }};
}

template <class Part, class Member>
auto of_part(Member Part::* member) {
  return [member](const InTrace<Part>& of) -> const auto& { return of.part.*member; };
}

Fields<InTrace<RecordedStep>> recorded_step_fields() {
  return {process_name<RecordedStep>(),
          {"number", of_part(&RecordedStep::number), signed_whole()},
          {"from", of_part(&RecordedStep::from), number()},
          {"to", of_part(&RecordedStep::to), number()}};
}

Fields<RecordedShare> busy_fields() {
  Fields<RecordedShare> fields;
  for (std::size_t k = 0; k < kRecordedKinds; ++k)
    fields.add({to_string(static_cast<RecordedKind>(k)),
                [k](const RecordedShare& share) { return share.busy[k]; }, number(), kWhereSet});
  return fields;
}

struct SharedTime {
  const RecordedTrace& trace;
  RecordedShare share;
};

std::vector<SharedTime> shares_of(const TraceSheet& sheet) {
  std::vector<SharedTime> list;
  for (const RecordedShare& share : recorded_shares(sheet.trace, sheet.from, sheet.to))
    list.push_back({sheet.trace, share});
  return list;
}

Fields<SharedTime> shared_time_fields() {
  const auto share = [](auto member) { return in(&SharedTime::share, member); };
  const auto process = [](const SharedTime& of) -> const RecordedProcess& {
    return of.trace.processes[of.share.process];
  };
  const auto rank = [process](const SharedTime& of) {
    return process(of).rank >= 0 ? std::optional<int>(process(of).rank) : std::nullopt;
  };
  return {
      {"process", in(process, &RecordedProcess::name)},
      {"rank", rank},
      {"spans", share(&RecordedShare::spans)},
      {"compute_seconds", share(&RecordedShare::compute)},
      {"exposed_communication_seconds", share(&RecordedShare::communication)},
      {"exposed_transfer_seconds", share(&RecordedShare::transfer)},
      {"idle_seconds", share(&RecordedShare::idle)},
      {"busy_seconds", &SharedTime::share, object(busy_fields()), "streams side by side, each"}};
}

struct StragglerSheet {
  const RecordedTrace& trace;
  Stragglers found;
};

Fields<InTrace<SlowProcess>> slow_process_fields() {
  return {process_name<SlowProcess>(),
          {"ratio", of_part(&SlowProcess::ratio), "to the median process"},
          {"spans", of_part(&SlowProcess::spans), whole(1), "that were compared"}};
}

Fields<SlowStep> slow_step_fields() {
  return {{"number", &SlowStep::number, signed_whole()},
          {"seconds", &SlowStep::length, number()},
          {"ratio", &SlowStep::ratio, "to the median step"},
          {"kernels_ratio", &SlowStep::kernels, "of its kernels to the medians of their kinds"}};
}

Fields<InTrace<SlowKernels>> slow_kernels_fields() {
  using Kernels = InTrace<SlowKernels>;
  return {{"name", [](const Kernels& of) { return of.trace.names[of.part.name]; }},
          process_name<SlowKernels>(),
          {"count", of_part(&SlowKernels::count), whole(1)},
          {"of", of_part(&SlowKernels::of), whole(1)},
          {"ratio", of_part(&SlowKernels::ratio), "median, to the median of the kind"},
          {"lost_seconds", of_part(&SlowKernels::lost), number(), "beyond the medians"}};
}

Fields<StragglerSheet> straggler_fields() {
  using Sheet = StragglerSheet;
  return {
      {"judged", [](const Sheet& sheet) { return sheet.found.judged; }},
      {"processes", [](const Sheet& sheet) { return all_in(sheet.trace, sheet.found.processes); },
       list_of(object(slow_process_fields()))},
      {"steps", [](const Sheet& sheet) -> const auto& { return sheet.found.steps; },
       list_of(object(slow_step_fields()))},
      {"kernels", [](const Sheet& sheet) { return all_in(sheet.trace, sheet.found.kernels); },
       list_of(object(slow_kernels_fields()))}};
}

std::vector<InTrace<RecordedCounter>> sampled_counters(const TraceSheet& sheet) {
  std::vector<InTrace<RecordedCounter>> list;
  for (const RecordedCounter& counter : sheet.trace.counters)
    if (!counter.value.empty()) list.push_back({sheet.trace, counter});
  return list;
}

Fields<InTrace<RecordedCounter>> recorded_counter_fields() {
  using Counter = InTrace<RecordedCounter>;
  return {process_name<RecordedCounter>(),
          {"name", of_part(&RecordedCounter::name)},
          {"samples", [](const Counter& of) { return of.part.at.size(); }, whole(1)},
          {"peak", [](const Counter& of) {
             return *std::max_element(of.part.value.begin(), of.part.value.end());
           }}};
}

Fields<TraceSheet> trace_fields() {
  using Sheet = TraceSheet;
  const auto of = [](auto member) {
    return [member](const Sheet& sheet) -> const auto& { return sheet.trace.*member; };
  };
  return document_fields<Sheet>(
      "trainyard/trace",
      {{"source", of(&RecordedTrace::source)},
       {"device", of(&RecordedTrace::device), kWhereSet},
       {"ranks", of(&RecordedTrace::ranks), whole(1), kWhereSet},
       {"events", of(&RecordedTrace::events)},
       {"spans", [](const Sheet& sheet) { return sheet.trace.start.size(); }},
       {"seconds", [](const Sheet& sheet) { return recorded_part(sheet.trace).whole; }, number()},
       {"range", Fields<Sheet>{{"from", &Sheet::from, number()}, {"to", &Sheet::to, number()}}},
       {"step_seconds", [](const Sheet& sheet) { return median_step(sheet.trace); }, number(),
        kWhereSet, "median, without the first"},
       {"steps", [](const Sheet& sheet) { return all_in(sheet.trace, sheet.trace.steps); },
        list_of(object(recorded_step_fields()))},
       {"processes", shares_of, list_of(object(shared_time_fields()))},
       {"stragglers",
        [](const Sheet& sheet) {
          return StragglerSheet{sheet.trace, find_stragglers(sheet.trace)};
        },
        object(straggler_fields()), "what takes longer than its like"},
       {"counters", sampled_counters, list_of(object(recorded_counter_fields()))},
       {"notes", of(&RecordedTrace::notes), kWhereSet, "what was done with it"},
       {"defects", of(&RecordedTrace::defects), list_of(object(trace_defect_fields()))}});
}

}  // namespace

const Fields<TraceDefect>& trace_defect_fields() {
  static const Fields<TraceDefect> fields = {
      {"expected", &TraceDefect::expected},
      {"found", &TraceDefect::found},
      {"assumed", &TraceDefect::assumed, "what was done instead"},
      {"line", &TraceDefect::line, "of the first, 0 where there are none"},
      {"offset", &TraceDefect::offset, "bytes before the first"},
      {"count", &TraceDefect::count, whole(1)}};
  return fields;
}

Json trace_schema() { return trace_fields().schema(); }

std::string trace_document(const RecordedTrace& trace, Instant from, Instant to) {
  return write_json(trace_fields().write({trace, from, to}));
}

}  // namespace trainyard

#include "core/io/documents/recorded_trace_json.h"

#include <algorithm>
#include <utility>

#include "core/io/json/schema.h"

namespace trainyard {
namespace {

Json share_json(const RecordedTrace& trace, const RecordedShare& share) {
  const RecordedProcess& process = trace.processes[share.process];
  Json json = Json::object();
  json.set("process", process.name);
  if (process.rank >= 0) json.set("rank", process.rank);
  json.set("spans", static_cast<std::int64_t>(share.spans));
  json.set("compute_seconds", to_seconds(share.compute));
  json.set("exposed_communication_seconds", to_seconds(share.communication));
  json.set("exposed_transfer_seconds", to_seconds(share.transfer));
  json.set("idle_seconds", to_seconds(share.idle));
  Json busy = Json::object();
  for (std::size_t k = 0; k < kRecordedKinds; ++k)
    if (share.busy[k] > Duration{})
      busy.set(to_string(static_cast<RecordedKind>(k)), to_seconds(share.busy[k]));
  json.set("busy_seconds", std::move(busy));
  return json;
}

}  // namespace

Json to_json(const TraceDefect& d) {
  Json json = Json::object();
  json.set("expected", d.expected).set("found", d.found).set("assumed", d.assumed);
  json.set("line", static_cast<std::int64_t>(d.line));
  json.set("offset", static_cast<std::int64_t>(d.offset));
  json.set("count", static_cast<std::int64_t>(d.count));
  return json;
}

std::string trace_document(const RecordedTrace& trace, Instant from, Instant to) {
  Json json = Json::object();
  json.set("schema", schema_name(schema("trainyard/trace")));
  json.set("source", trace.source);
  if (!trace.device.empty()) json.set("device", trace.device);
  if (trace.ranks > 0) json.set("ranks", trace.ranks);
  json.set("events", static_cast<std::int64_t>(trace.events));
  json.set("spans", static_cast<std::int64_t>(trace.start.size()));
  json.set("seconds", to_seconds(recorded_part(trace).whole));
  Json range = Json::object();
  range.set("from", to_seconds(from)).set("to", to_seconds(to));
  json.set("range", std::move(range));
  if (const Duration step = median_step(trace); step > Duration{})
    json.set("step_seconds", to_seconds(step));
  Json steps = Json::list(), processes = Json::list(), counters = Json::list(),
       defects = Json::list();
  for (const RecordedStep& step : trace.steps) {
    Json one = Json::object();
    one.set("process", trace.processes[step.process].name).set("number", step.number);
    one.set("from", to_seconds(step.from)).set("to", to_seconds(step.to));
    steps.push(std::move(one));
  }
  for (const RecordedShare& share : recorded_shares(trace, from, to))
    processes.push(share_json(trace, share));
  for (const RecordedCounter& counter : trace.counters) {
    if (counter.value.empty()) continue;
    Json one = Json::object();
    one.set("process", trace.processes[counter.process].name).set("name", counter.name);
    one.set("samples", counter.at.size());
    one.set("peak", *std::max_element(counter.value.begin(), counter.value.end()));
    counters.push(std::move(one));
  }
  for (const TraceDefect& d : trace.defects) defects.push(to_json(d));
  if (!trace.notes.empty()) {
    Json notes = Json::list();
    for (const std::string& note : trace.notes) notes.push(note);
    json.set("notes", std::move(notes));
  }
  json.set("steps", std::move(steps)).set("processes", std::move(processes));
  json.set("counters", std::move(counters)).set("defects", std::move(defects));
  return write_json(json);
}

}  // namespace trainyard

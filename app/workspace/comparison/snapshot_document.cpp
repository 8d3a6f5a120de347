#include "app/workspace/comparison/snapshot_document.h"

#include <utility>

#include "core/io/json/json.h"
#include "core/io/json/schema.h"

namespace trainyard {
namespace {

Json cause_json(const SnapshotCause& cause) {
  Json json = Json::object();
  json.set("name", cause.name).set("unexplained", cause.apart);
  if (!cause.setting.empty()) json.set("set", cause.setting);
  return json;
}

Json divergence_json(const SnapshotDivergence& d) {
  Json json = Json::object();
  json.set("at_seconds", to_seconds(d.at)).set("category", to_string(d.category));
  json.set("measured_bytes", d.measured.value).set("planned_bytes", d.planned.value);
  json.set("owner", d.owner);
  return json;
}

}  // namespace

std::string snapshot_document(const MemorySnapshot& snapshot, const SnapshotDiagnosis& d) {
  const SnapshotWave& w = d.found.wave;
  Json json = Json::object();
  json.set("schema", schema_name(schema("trainyard/snapshot")));
  json.set("source", snapshot.source).set("device", w.device);
  json.set("events", snapshot.devices[static_cast<std::size_t>(w.device)].size());
  json.set("peak_bytes", total(w.wave.samples[w.wave.peak].bytes).value);
  json.set("reserved_bytes", w.reserved[w.most_reserved].value);
  json.set("unused_bytes", d.found.unused.value);
  Json owners = Json::list();
  for (const SnapshotOwner& o : d.found.peak) {
    Json one = Json::object();
    one.set("owner", o.name).set("category", to_string(o.category));
    one.set("bytes", o.bytes.value).set("blocks", o.blocks);
    owners.push(std::move(one));
  }
  json.set("alive_at_peak", std::move(owners));
  Json notes = Json::list();
  for (const std::string& defect : snapshot.defects) notes.push(defect);
  json.set("notes", std::move(notes));
  if (!d.predicted) return write_json(json);
  json.set("rank", d.rank.value).set("planned_peak_bytes", d.planned_peak.value);
  if (d.divergence) json.set("divergence", divergence_json(*d.divergence));
  json.set("cause", cause_json(d.cause));
  Json others = Json::list();
  for (const SnapshotCause& cause : d.others) others.push(cause_json(cause));
  json.set("others", std::move(others)).set("sentence", d.sentence);
  return write_json(json);
}

SnapshotModel snapshot_model(const SnapshotDiagnosis& d) {
  SnapshotModel model;
  model.measured = d.found.wave.wave;
  model.reserved = d.found.wave.reserved;
  model.timed = d.found.wave.timed;
  model.sentence = d.sentence;
  model.steps = d.steps;
  if (d.predicted) model.planned = d.predicted->waves[d.rank.value];
  if (d.divergence) {
    model.divergence = d.divergence->at;
    model.divergence_owner = d.divergence->owner;
  }
  for (const SnapshotOwner& o : d.found.peak) model.owners.push_back({o.name, o.category, o.bytes});
  finish_snapshot(model);
  return model;
}

}  // namespace trainyard

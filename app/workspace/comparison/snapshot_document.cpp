#include "app/workspace/comparison/snapshot_document.h"

#include "core/io/json/fields.h"

namespace trainyard {
namespace {

struct SnapshotSheet {
  const MemorySnapshot& snapshot;
  const SnapshotDiagnosis& diagnosis;
};

Fields<SnapshotCause> cause_fields() {
  return {{"name", &SnapshotCause::name},
          {"unexplained", &SnapshotCause::apart, "of the measured peak"},
          {"set", &SnapshotCause::setting, kWhereSet, "what --set would say of it"}};
}

Fields<SnapshotDivergence> divergence_fields() {
  return {{"at_seconds", &SnapshotDivergence::at},
          {"category", &SnapshotDivergence::category},
          {"measured_bytes", &SnapshotDivergence::measured},
          {"planned_bytes", &SnapshotDivergence::planned},
          {"owner", &SnapshotDivergence::owner}};
}

Fields<SnapshotOwner> snapshot_owner_fields() {
  return {{"owner", &SnapshotOwner::name},
          {"category", &SnapshotOwner::category},
          {"bytes", &SnapshotOwner::bytes},
          {"blocks", &SnapshotOwner::blocks}};
}

Fields<SnapshotSheet> snapshot_fields() {
  using Sheet = SnapshotSheet;
  const auto found = [](auto member) {
    return [member](const Sheet& s) -> const auto& { return s.diagnosis.found.*member; };
  };
  const auto wave = [](const Sheet& s) -> const SnapshotWave& { return s.diagnosis.found.wave; };
  const auto events = [wave](const Sheet& s) {
    return s.snapshot.devices[static_cast<std::size_t>(wave(s).device)].size();
  };
  const auto peak = [wave](const Sheet& s) {
    return total(wave(s).wave.samples[wave(s).wave.peak].bytes);
  };
  const auto most_reserved = [wave](const Sheet& s) {
    return wave(s).reserved[wave(s).most_reserved];
  };
  // Only a prediction is compared with.
  const auto compared = [](auto member) {
    return [member](const Sheet& s) {
      return s.diagnosis.predicted ? &(s.diagnosis.*member) : nullptr;
    };
  };
  const auto divergence = [](const Sheet& s) {
    const SnapshotDiagnosis& d = s.diagnosis;
    return d.predicted && d.divergence ? &*d.divergence : nullptr;
  };
  const Form<SnapshotCause> cause = object(cause_fields());
  return document_fields<Sheet>(
      "trainyard/snapshot",
      {{"source", [](const Sheet& s) { return s.snapshot.source; }},
       {"device", in(wave, &SnapshotWave::device)},
       {"events", events},
       {"peak_bytes", peak},
       {"reserved_bytes", most_reserved},
       {"unused_bytes", found(&SnapshotFindings::unused), "reserved and in no block"},
       {"alive_at_peak", found(&SnapshotFindings::peak), list_of(object(snapshot_owner_fields()))},
       {"notes", [](const Sheet& s) -> const auto& { return s.snapshot.defects; }},
       {"rank", compared(&SnapshotDiagnosis::rank), "of the plan"},
       {"planned_peak_bytes", compared(&SnapshotDiagnosis::planned_peak)},
       {"divergence", divergence, object(divergence_fields())},
       {"cause", compared(&SnapshotDiagnosis::cause), cause},
       {"others", compared(&SnapshotDiagnosis::others), list_of(cause)},
       {"sentence", compared(&SnapshotDiagnosis::sentence)}});
}

}  // namespace

Json snapshot_schema() { return snapshot_fields().schema(); }

std::string snapshot_document(const MemorySnapshot& snapshot, const SnapshotDiagnosis& d) {
  return write_json(snapshot_fields().write({snapshot, d}));
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

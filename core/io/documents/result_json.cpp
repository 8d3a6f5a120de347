#include "core/io/documents/result_json.h"

#include <utility>

#include "core/base/digest.h"
#include "core/io/documents/plan_json.h"
#include "core/io/json/schema.h"

namespace trainyard {
namespace {

Json number(Bytes bytes) { return Json(bytes.value); }
// Dividing gives the nearest double: 33 ms is 0.033, which multiplying would miss.
Json number(Duration d) { return Json(static_cast<double>(d.count()) / 1e9); }
Json number(Joules energy) { return Json(energy.value); }
Json number(double value) { return Json(value); }

template <class T>
Json band(const Banded<T>& banded) {
  Json json = Json::object();
  json.set("value", number(banded.value));
  json.set("low", number(banded.low));
  json.set("high", number(banded.high));
  return json;
}

Json model(const Result& r) {
  Json json = Json::object();
  json.set("name", r.model_name);
  json.set("parameters", r.parameters);
  json.set("active_parameters", r.active_parameters);
  return json;
}

Json cluster(const Result& r) {
  Json json = Json::object();
  json.set("name", r.cluster_name);
  json.set("devices", r.devices);
  json.set("device", r.device_name);
  json.set("devices_per_node", r.devices_per_node);
  return json;
}

Json change(const Fix& fix) {
  Json json = Json::object();
  json.set("set", fix.set);
  json.set("saves_bytes", number(fix.saves));
  json.set("costs_fraction", fix.costs);
  json.set("fits", fix.fits);
  json.set("peak_bytes", number(fix.peak));
  json.set("step_seconds", number(fix.step));
  json.set("sentence", fix.sentence);
  return json;
}

Json assumptions(const std::vector<Assumed>& assumed) {
  Json list = Json::list();
  for (const Assumed& one : assumed) {
    Json json = Json::object();
    json.set("setting", one.setting);
    json.set("taken", one.taken);
    json.set("other", one.other);
    json.set("step_seconds", number(one.step));
    json.set("change", one.change);
    json.set("sentence", one.sentence);
    list.push(std::move(json));
  }
  return list;
}

Json peak_parts(const std::vector<PeakPart>& parts) {
  Json list = Json::list();
  for (const PeakPart& part : parts) {
    Json json = Json::object();
    json.set("name", part.name);
    json.set("category", to_string(part.category));
    json.set("bytes", number(part.bytes));
    list.push(std::move(json));
  }
  return list;
}

Json verdict(const Verdict& v) {
  Json json = Json::object();
  json.set("fits", v.fits);
  json.set("word", to_string(v.word));
  json.set("margin_bytes", number(v.margin));
  if (v.worst_device.valid()) json.set("worst_device", v.worst_device.value);
  if (v.worst_stage.valid()) json.set("worst_stage", v.worst_stage.value);
  if (v.worst_device.valid()) json.set("at_seconds", number(v.at));
  json.set("phase", v.phase);
  json.set("crest", peak_parts(v.peak_parts));
  json.set("sentence", v.sentence);
  if (!v.limit.empty()) json.set("limit", v.limit);
  Json fixes = Json::list();
  for (const Fix& fix : v.fixes) fixes.push(change(fix));
  json.set("fixes", std::move(fixes));
  if (v.gain) json.set("gain", change(*v.gain));
  return json;
}

// These are the names of categories in the document. What recomputation rebuilds counts as
// activations there.
Json categories(const CategoryBytes& bytes) {
  const auto of = [&](Category category) { return bytes[static_cast<std::size_t>(category)]; };
  Json json = Json::object();
  json.set("weights", number(of(Category::Weights)));
  json.set("gradients", number(of(Category::Gradients)));
  json.set("optimizer_state", number(of(Category::OptimizerState)));
  json.set("activations", number(of(Category::Activations) + of(Category::Recomputed)));
  json.set("communication", number(of(Category::Communication)));
  json.set("workspace", number(of(Category::Workspace)));
  json.set("framework", number(of(Category::Framework)));
  return json;
}

Json allocator(const AllocatorReplay& replay) {
  Json json = Json::object();
  json.set("requested_bytes", number(replay.requested));
  json.set("allocated_bytes", number(replay.allocated));
  json.set("reserved_bytes", number(replay.reserved));
  json.set("rounding_bytes", number(replay.rounding));
  json.set("free_in_small_segments", number(replay.small_free));
  json.set("free_in_shared_segments", number(replay.shared_free));
  json.set("free_in_own_segments", number(replay.own_free));
  return json;
}

Json memory(const Result& r) {
  Json stages = Json::list();
  for (const StageMemory& stage : r.memory) {
    Json json = Json::object();
    json.set("stage", stage.stage.value);
    json.set("device", stage.device.value);
    json.set("peak_bytes", number(stage.peak.value));
    json.set("reserved_bytes", number(stage.reserved));
    json.set("at_seconds", number(stage.at));
    json.set("low", number(stage.peak.low));
    json.set("high", number(stage.peak.high));
    json.set("categories", categories(stage.categories));
    if (stage.replay) json.set("allocator", allocator(*stage.replay));
    stages.push(std::move(json));
  }
  Json json = Json::object();
  json.set("capacity_bytes", number(r.capacity));
  json.set("stages", std::move(stages));
  if (r.host) {
    Json host = Json::object();
    host.set("device_bytes", number(r.host->device));
    host.set("node_bytes", number(r.host->node));
    if (r.host->capacity.value.value > 0)
      host.set("capacity_bytes", number(r.host->capacity.value));
    host.set("basis", r.host->basis);
    json.set("host", std::move(host));
  }
  return json;
}

Json breakdown(const Breakdown& b) {
  Json json = Json::object();
  json.set("forward", number(b.forward));
  json.set("backward", number(b.backward));
  json.set("recompute", number(b.recompute));
  json.set("optimizer", number(b.optimizer));
  json.set("tensor_parallel", number(b.tensor_parallel));
  json.set("context_parallel", number(b.context_parallel));
  json.set("expert_parallel", number(b.expert_parallel));
  json.set("pipeline", number(b.pipeline));
  json.set("data_parallel", number(b.data_parallel));
  json.set("bubble", number(b.bubble));
  json.set("allocator", number(b.allocator));
  if (b.host > Duration{}) json.set("host", number(b.host));
  return json;
}

void add_evidence(Json& json, const Evidence& evidence) {
  Json nearest = Json::list(), unchecked = Json::list();
  for (const NearRow& row : evidence.nearest) {
    Json one = Json::object();
    one.set("id", row.id);
    one.set("distance", row.distance);
    nearest.push(std::move(one));
  }
  for (const std::string& part : evidence.unchecked) unchecked.push(part);
  json.set("nearest_validated", std::move(nearest));
  json.set("outside_validated", evidence.outside);
  json.set("unchecked", std::move(unchecked));
  json.set("evidence", evidence.sentence);
}

void add_speed(Json& json, const Result& r) {
  const double s = to_seconds(r.step.value);
  json.set("step_seconds", band(r.step));
  if (!r.step.basis.empty()) json.set("band_basis", r.step.basis);
  if (s > 0 && r.counts_tokens) {
    json.set("tokens_per_second", tokens_per_second(r));
    json.set("tokens_per_second_per_device", tokens_per_second(r) / static_cast<double>(r.devices));
  }
  if (s > 0) json.set("samples_per_second", r.samples_per_step / s);
  json.set("model_flops_per_step", r.model_flops.value);
  json.set("hardware_flops_per_step", r.hardware_flops.value);
  if (s > 0)
    json.set("tflops_per_device", r.model_flops.value / s / static_cast<double>(r.devices) / 1e12);
  json.set("mfu", r.mfu);
  json.set("hfu", r.hfu);
  if (!r.stated_mfu.empty()) {
    Json stated = Json::object();
    for (const auto& [definition, share] : r.stated_mfu)
      stated.set(std::string(info(definition).name), share);
    json.set("mfu_by_definition", std::move(stated));
  }
  json.set("peak_flops_used", r.peak_flops.value);
  json.set("bubble_fraction", r.bubble_fraction);
  json.set("exposed_communication_fraction", r.exposed_communication_fraction);
}

Json stage_facts(const StageFacts& f) {
  Json json = Json::object();
  json.set("stage", f.stage.value);
  json.set("device", f.device.value);
  json.set("forward_delay", f.forward_delay);
  json.set("backward_delay", f.backward_delay);
  json.set("mean_delay", f.mean_delay_thousandths / 1000.0);
  json.set("weight_versions", f.versions);
  json.set("consistent", f.consistent);
  json.set("live_microbatches", f.live);
  return json;
}

Json asynchrony(const Asynchrony& a, const Result& r) {
  Json stages = Json::list();
  for (const StageFacts& f : a.stages) stages.push(stage_facts(f));
  Json json = Json::object();
  json.set("sentence", a.sentence);
  json.set("mean_delay", a.mean_delay);
  json.set("weight_versions", a.versions);
  json.set("consistent", a.consistent);
  Json overhead = band(a.token_overhead);
  overhead.set("basis", a.token_overhead.basis);
  overhead.set("provenance", to_string(a.provenance));
  json.set("token_overhead", std::move(overhead));
  json.set("effective_step_seconds", number(effective_step(r.step.value, a)));
  if (r.counts_tokens && r.step.value > Duration{}) {
    json.set("effective_tokens_per_second", tokens_per_second(r) / a.token_overhead.value);
    json.set("days_per_trillion_tokens", days_per_trillion_tokens(tokens_per_second(r), a));
  }
  json.set("stages", std::move(stages));
  return json;
}

void add_cost(Json& json, const Result& r) {
  if (r.energy) {
    json.set("energy_joules", band(*r.energy));
    json.set("energy_basis", r.energy->basis);
    json.set("mean_device_watts", mean_draw(r).value);
  }
  if (!r.money) return;
  Json money = band(*r.money);
  money.set("currency", "USD");
  const double device_hours = to_seconds(r.step.value) * static_cast<double>(r.devices) / 3600.0;
  if (device_hours > 0) money.set("per_device_hour", r.money->value / device_hours);
  json.set("money", std::move(money));
}

}  // namespace

Json to_json(const Result& r) {
  Json json = Json::object();
  json.set("schema", schema_name(schema("trainyard/result")));
  json.set("digest", to_hex(r.digest));
  json.set("fidelity", r.fidelity);
  json.set("model", model(r));
  json.set("cluster", cluster(r));
  json.set("plan", to_json(r.plan));
  json.set("verdict", verdict(r.verdict));
  add_speed(json, r);
  if (r.asynchrony) json.set("asynchrony", asynchrony(*r.asynchrony, r));
  json.set("memory", memory(r));
  if (r.critical_device.valid()) {
    json.set("breakdown_seconds", breakdown(r.breakdown));
    json.set("critical_device", r.critical_device.value);
  }
  add_cost(json, r);
  Json leaves_out = Json::list();
  for (const std::string& sentence : r.leaves_out) leaves_out.push(sentence);
  json.set("assumptions", assumptions(r.assumptions));
  json.set("leaves_out", std::move(leaves_out));
  if (r.evidence) add_evidence(json, *r.evidence);
  return json;
}

std::string result_document(const Result& result) { return write_json(to_json(result)); }

}  // namespace trainyard

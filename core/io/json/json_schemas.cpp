#include "core/io/json/json_schemas.h"

#include <utility>

#include "core/base/error.h"
#include "core/base/nearest.h"
#include "core/cost/parameters.h"
#include "core/io/json/json.h"
#include "core/io/json/quantity.h"
#include "core/io/json/schema.h"
#include "core/methods/catalogue.h"
#include "core/methods/settings/settings.h"
#include "core/plan/plan.h"
#include "core/program/program.h"
#include "core/result/flops_definition.h"
#include "core/timeline/recorded_trace.h"

namespace trainyard {
namespace {

struct Member {
  std::string key;
  Json schema;
  bool required = true;
};

Json of_type(const char* type) {
  Json json = Json::object();
  json.set("type", type);
  return json;
}

Json described(Json schema, std::string_view words) {
  schema.set("description", words);
  return schema;
}

Json text() { return of_type("string"); }
Json truth() { return of_type("boolean"); }
Json real() { return of_type("number"); }
Json real(const QuantityRange& of) {
  Json json = real();
  json.set("minimum", of.low);
  json.set("maximum", of.high);
  return json;
}
Json fraction() { return real(kShare); }
Json whole(std::int64_t least = 0) {
  Json json = of_type("integer");
  json.set("minimum", least);
  return json;
}
Json signed_whole() { return of_type("integer"); }
Json list_of(Json items) {
  Json json = of_type("array");
  json.set("items", std::move(items));
  return json;
}

template <class Range>
Json one_of_words(const Range& words) {
  Json list = Json::list();
  for (const auto& word : words) list.push(Json(std::string_view(word)));
  Json json = text();
  json.set("enum", std::move(list));
  return json;
}

Json object(std::vector<Member> members) {
  Json properties = Json::object(), required = Json::list();
  for (Member& member : members) {
    if (member.required) required.push(member.key);
    properties.set(member.key, std::move(member.schema));
  }
  Json json = of_type("object");
  json.set("properties", std::move(properties));
  json.set("required", std::move(required));
  json.set("additionalProperties", false);
  return json;
}

Json constant(const std::string& word) {
  Json json = Json::object();
  json.set("const", word);
  return json;
}

Json document(std::string_view kind, Json object_schema) {
  const std::string name = schema_name(schema(kind));
  object_schema.set("$schema", "https://json-schema.org/draft/2020-12/schema");
  object_schema.set("title", name);
  return object_schema;
}

Member schema_member(std::string_view kind) {
  return {"schema", constant(schema_name(schema(kind)))};
}

// Plan

Json param_schema(const ParamSpec& spec) {
  struct Of {
    const ParamSpec& spec;
    Json operator()(bool) const { return truth(); }
    Json operator()(std::int64_t) const { return whole(static_cast<std::int64_t>(spec.low)); }
    Json operator()(double) const { return real(); }
    Json operator()(const std::string&) const {
      return spec.values.empty() ? text() : one_of_words(spec.values);
    }
  };
  return described(std::visit(Of{spec}, spec.fallback), spec.doc);
}

Json choices_schema() {
  Json any = Json::list();
  for (const Method& method : methods()) {
    std::vector<Member> members = {{"method", constant(std::string(method.name))}};
    for (const ParamSpec& spec : method.params)
      members.push_back({std::string(spec.name), param_schema(spec), false});
    any.push(described(object(std::move(members)), method.summary));
  }
  Json one = Json::object();
  one.set("oneOf", std::move(any));
  return list_of(std::move(one));
}

Json software_schema() {
  std::vector<Member> members;
  for (const char* key : {"framework", "kernels", "attention"}) {
    const Setting& one = *find_setting(key);
    members.push_back({key, described(one_of_words(one.values), one.doc), false});
  }
  return object(std::move(members));
}

Json split_schema() {
  Json any = Json::list();
  any.push(described(list_of(whole()), "layers of each virtual stage"));
  any.push(one_of_words(std::vector<std::string_view>{"even", "balanced"}));
  Json one = Json::object();
  one.set("oneOf", std::move(any));
  return one;
}

Json plan_object() {
  std::vector<std::string_view> optimizer_names;
  for (const Optimizer& known : optimizers()) optimizer_names.push_back(known.name);
  const auto degree = [](const char* key) { return Member{key, whole(1), false}; };
  return object({schema_member("trainyard/plan"),
                 {"name", text(), false},
                 {"mesh",
                  object({degree("tp"),
                          degree("cp"),
                          degree("ep"),
                          degree("etp"),
                          degree("dp"),
                          degree("pp"),
                          {"order", described(text(), "fastest first, as tp-cp-ep-dp-pp"), false}}),
                  false},
                 {"virtual_stages", whole(1), false},
                 {"batch",
                  object({{"global", whole(1), false},
                          {"micro", whole(1), false},
                          {"sequence", whole(1), false}}),
                  false},
                 {"split", split_schema(), false},
                 {"order", described(list_of(text()), "an edited order, one line a lane"), false},
                 {"optimizer", one_of_words(optimizer_names), false},
                 {"software", software_schema(), false},
                 {"flash_attention", truth(), false},
                 {"choices", choices_schema(), false}});
}

Json plan_schema() { return document("trainyard/plan", plan_object()); }

// Result

Json band_of(Json number) { return object({{"value", number}, {"low", number}, {"high", number}}); }

Json change_schema() {
  return object({{"set", text()},
                 {"saves_bytes", signed_whole()},
                 {"costs_fraction", real()},
                 {"fits", truth()},
                 {"peak_bytes", whole()},
                 {"step_seconds", real(kSeconds)},
                 {"sentence", text()}});
}

Json verdict_schema() {
  std::vector<std::string_view> categories;
  for (int c = 0; c < kCategories; ++c) categories.push_back(to_string(static_cast<Category>(c)));
  return object(
      {{"fits", described(truth(), "by the predicted peak alone")},
       {"word",
        described(
            one_of_words(std::vector<std::string_view>{"fits", "may not fit", "does not fit"}),
            "may not fit: the capacity lies within the peak's band"),
        false},
       {"margin_bytes", signed_whole()},
       {"worst_device", whole(), false},
       {"worst_stage", whole(), false},
       {"at_seconds", real(kSeconds), false},
       {"phase", text()},
       {"crest",
        list_of(object(
            {{"name", text()}, {"category", one_of_words(categories)}, {"bytes", whole()}}))},
       {"sentence", text()},
       {"limit", text(), false},
       {"fixes", list_of(change_schema())},
       {"gain", change_schema(), false}});
}

Json allocator_schema() {
  std::vector<Member> parts;
  for (const char* key :
       {"requested_bytes", "allocated_bytes", "reserved_bytes", "rounding_bytes",
        "free_in_small_segments", "free_in_shared_segments", "free_in_own_segments"})
    parts.push_back({key, whole()});
  return object(std::move(parts));
}

Json memory_schema() {
  std::vector<Member> categories;
  for (const char* key : {"weights", "gradients", "optimizer_state", "activations", "communication",
                          "workspace", "framework"})
    categories.push_back({key, whole()});
  return object({{"capacity_bytes", whole()},
                 {"stages", list_of(object({{"stage", whole()},
                                            {"device", whole()},
                                            {"peak_bytes", whole()},
                                            {"reserved_bytes", whole()},
                                            {"at_seconds", real(kSeconds)},
                                            {"low", whole()},
                                            {"high", whole()},
                                            {"categories", object(std::move(categories))},
                                            {"allocator", allocator_schema(), false}}))},
                 {"host",
                  described(object({{"device_bytes", whole()},
                                    {"node_bytes", whole()},
                                    {"capacity_bytes", whole(), false},
                                    {"basis", text()}}),
                            "memory of the host, where a plan offloads"),
                  false}});
}

Json breakdown_schema() {
  std::vector<Member> parts;
  for (const char* key :
       {"forward", "backward", "recompute", "optimizer", "tensor_parallel", "context_parallel",
        "expert_parallel", "pipeline", "data_parallel", "bubble", "allocator"})
    parts.push_back({key, real(kSeconds)});
  parts.push_back(
      {"host", described(real(kSeconds), "waiting for what the host keeps or updates"), false});
  return object(std::move(parts));
}

Json asynchrony_schema() {
  return object({{"sentence", text()},
                 {"mean_delay", described(real(), "updates")},
                 {"weight_versions", whole(1)},
                 {"consistent", truth()},
                 {"token_overhead", object({{"value", real()},
                                            {"low", real()},
                                            {"high", real()},
                                            {"basis", text()},
                                            {"provenance", text()}})},
                 {"effective_step_seconds", real(kSeconds)},
                 {"effective_tokens_per_second", real(kAmount), false},
                 {"days_per_trillion_tokens", real(kAmount), false},
                 {"stages", list_of(object({{"stage", whole()},
                                            {"device", whole()},
                                            {"forward_delay", whole()},
                                            {"backward_delay", whole()},
                                            {"mean_delay", real()},
                                            {"weight_versions", whole(1)},
                                            {"consistent", truth()},
                                            {"live_microbatches", whole()}}))}});
}

Json shares_by_definition() {
  std::vector<Member> members;
  for (const FlopsDefinitionInfo& one : flops_definitions())
    if (!one.hardware) members.push_back({std::string(one.name), fraction(), false});
  return described(object(std::move(members)), "what the same step is by other counts of FLOPs");
}

std::vector<Member> result_members() {
  return {
      schema_member("trainyard/result"),
      {"digest", text()},
      {"fidelity", text()},
      {"model",
       object({{"name", text()}, {"parameters", whole()}, {"active_parameters", whole()}})},
      {"cluster", object({{"name", text()},
                          {"devices", whole(1)},
                          {"device", text()},
                          {"devices_per_node", whole(1)}})},
      {"plan", plan_object()},
      {"verdict", verdict_schema()},
      {"step_seconds", band_of(real(kSeconds))},
      {"tokens_per_second", real(kAmount), false},
      {"tokens_per_second_per_device", real(kAmount), false},
      {"samples_per_second", real(kAmount), false},
      {"model_flops_per_step", real(kAmount)},
      {"hardware_flops_per_step", real(kAmount)},
      {"tflops_per_device", real(kAmount), false},
      {"mfu", fraction()},
      {"hfu", fraction()},
      {"mfu_by_definition", shares_by_definition(), false},
      {"peak_flops_used", real(kAmount)},
      {"bubble_fraction", fraction()},
      {"exposed_communication_fraction", fraction()},
      {"asynchrony", asynchrony_schema(), false},
      {"memory", memory_schema()},
      {"breakdown_seconds", breakdown_schema(), false},
      {"critical_device", whole(), false},
      {"energy_joules", band_of(real(kAmount)), false},
      {"energy_basis", described(text(), "what a device draws by what it does"), false},
      {"mean_device_watts", real(kAmount), false},
      {"money",
       object({{"value", real()},
               {"low", real()},
               {"high", real()},
               {"currency", text()},
               {"per_device_hour", real(), false}}),
       false},
      {"assumptions",
       list_of(object({{"setting", text()},
                       {"taken", text()},
                       {"other", text()},
                       {"step_seconds", real(kSeconds)},
                       {"change", described(real(), "share of the time a sample takes")},
                       {"sentence", text()}})),
       false},
      {"leaves_out", list_of(text())},
      {"band_basis", text(), false},
      {"evidence", described(text(), "what measured runs say of this answer"), false},
      {"nearest_validated",
       list_of(object({{"id", text()},
                       {"distance", described(real(), "1 is a large difference in one thing")}})),
       false},
      {"outside_validated", truth(), false},
      {"unchecked", described(list_of(text()), "parts of the plan that no row has"), false}};
}

Json result_object() { return object(result_members()); }

Json result_schema() { return document("trainyard/result", result_object()); }

// This is the comparison of two results by cause, from a to b.
Json between_schema() {
  const auto fall = [](const char* words) {
    return described(
        object({{"a", real()},
                {"b", real()},
                {"parts",
                 described(
                     list_of(object(
                         {{"name", text()}, {"a", real()}, {"b", real()}, {"difference", real()}})),
                     "they sum to the whole")}}),
        words);
  };
  return object({{"seconds", fall("the step by cause")},
                 {"bytes", fall("the fullest device's memory by category")}});
}

std::vector<Member> reason_members() {
  return {{"sentence", text()},
          {"field", described(text(), "of the plan, that forbids it"), false},
          {"fix", described(text(), "words of --set that mend it"), false},
          {"distance", described(real(), "bytes over; share by which it is slower")}};
}

Json nothing_fits_schema() {
  return object(
      {{"words", described(list_of(text()), "of the plan that needs least memory"), false},
       {"reserved_bytes", whole(), false},
       {"over_bytes", whole(), false},
       {"reason", object(reason_members())},
       {"openings", list_of(object({{"flag", text()},
                                    {"words", text()},
                                    {"fits", truth()},
                                    {"margin_bytes", signed_whole()},
                                    {"step_seconds", real(kSeconds)}}))}});
}

Json why_schema() {
  std::vector<Member> members = reason_members();
  for (Member& one : std::vector<Member>{
           {"fate", text()},
           {"words", list_of(text())},
           {"matches", described(whole(), "plans of the space that have the words")},
           {"outside", described(text(), "why it is none of the space"), false},
           {"nearest", described(list_of(text()), "the plan that wins nearest to it"), false},
           {"result", result_object(), false},
           {"against_best", between_schema(), false}})
    members.push_back(std::move(one));
  return object(std::move(members));
}

Json counts_by_fate(const char* words) {
  std::vector<Member> members;
  for (const char* fate : {"untried", "layers", "heads", "batch", "sequence", "devices", "schedule",
                           "method", "memory", "dominated", "front", "best"})
    members.push_back({fate, whole(1), false});
  return described(object(std::move(members)), words);
}

Json search_schema() {
  std::vector<Member> ranked = result_members();
  ranked.push_back({"rank", whole(1)});
  ranked.push_back({"words", list_of(text())});
  ranked.push_back({"reserved_bytes", described(whole(), "on the fullest device")});
  std::vector<Member> sample = reason_members();
  sample.push_back({"fate", text()});
  sample.push_back({"words", list_of(text())});
  return document(
      "trainyard/search",
      object({schema_member("trainyard/search"),
              {"evaluated", described(whole(), "plans tried, each once")},
              {"feasible", described(whole(), "of them, those that fit")},
              {"estimated", described(whole(), "of them, by the whole closed form")},
              {"simulated", whole()},
              {"seconds", described(real(), "of the whole answer, simulation and causes included")},
              {"plans_per_second", described(real(), "while they were priced")},
              {"stopped", described(truth(), "before all were tried")},
              {"objective", text()},
              {"space", list_of(object({{"knob", text()}, {"values", list_of(text())}}))},
              {"best", list_of(object(ranked))},
              {"pareto", described(list_of(object(ranked)), "by the closed form, by time")},
              {"rejected", counts_by_fate("the plans that are not of the front, by reason")},
              {"fates", counts_by_fate("of all plans; they add up to evaluated")},
              {"samples", described(list_of(object(std::move(sample))), "one plan of each fate")},
              {"runner_up", described(between_schema(), "from the first to the second"), false},
              {"refined",
               described(list_of(object({{"words", list_of(text())},
                                         {"changes", list_of(text())},
                                         {"step_seconds", real(kSeconds)},
                                         {"simulated_seconds", real(kSeconds), false},
                                         {"reserved_bytes", whole()}})),
                         "beyond the grid, quicker than the best of it"),
               false},
              {"nothing_fits", nothing_fits_schema(), false},
              {"why", why_schema(), false}}));
}

Json order_schema() {
  return document(
      "trainyard/order",
      object(
          {schema_member("trainyard/order"),
           {"schedule", text(), false},
           {"devices", whole(1), false},
           {"virtual_stages", whole(1), false},
           {"microbatches", whole(1), false},
           {"placement", described(text(), "of stages on devices"), false},
           {"steps", described(whole(1), "of an asynchronous schedule"), false},
           {"step", described(whole(), "of them, that times and bubbles are of"), false},
           {"makespan", described(real(), "seconds"), false},
           {"ideal", described(real(), "seconds"), false},
           {"lower_bound", described(real(), "seconds; no order is shorter"), false},
           {"found_by", described(text(), "of a solved order"), false},
           {"bubble_fraction", fraction(), false},
           {"over_one_wave", described(real(), "of waves: samples a second over one wave's"),
            false},
           {"span_bubble_fraction",
            described(list_of(fraction()),
                      "of each device, between its own first pass and its own last end"),
            false},
           {"live_microbatches", list_of(real()), false},
           {"delays", described(list_of(whole()), "of each stage's forward, in updates"), false},
           {"versions", described(list_of(whole(1)), "of each stage's weights, most at once"),
            false},
           {"card",
            object(
                {{"gains", text()}, {"costs", text()}, {"legal_when", text()}, {"paper", text()}}),
            false},
           {"lanes", described(list_of(text()), "a lane each, as d0/compute  0F0 0B0")}}));
}

Json schedules_schema() {
  return document(
      "trainyard/schedules",
      object({schema_member("trainyard/schedules"),
              {"budget_bytes", described(whole(), "of each device")},
              {"global_batch", whole(1)},
              {"sequence", whole(1)},
              {"schedules",
               list_of(object(
                   {{"schedule", text()},
                    {"own_order", described(truth(), "the plan's, not the schedule's"), false},
                    {"legal", truth()},
                    {"fits", truth()},
                    {"asynchronous", truth()},
                    {"why_not", text(), false},
                    {"changed", described(text(), "arguments of --set"), false},
                    {"step_seconds", real(kSeconds), false},
                    {"tokens", described(text(), "what a token of stale weights is worth"), false},
                    {"bubble_fraction", fraction(), false},
                    {"peak_bytes", whole(), false},
                    {"tried", described(whole(), "variants simulated"), false}}))}}));
}

Json trade_schema() {
  return document(
      "trainyard/trade",
      object({schema_member("trainyard/trade"),
              {"devices", whole(1)},
              {"virtual_stages", whole(1)},
              {"microbatches", whole(1)},
              {"placement", text()},
              {"points",
               list_of(object({{"limit", described(real(), "live microbatches of a device")},
                               {"makespan", described(real(), "seconds")},
                               {"lower_bound", described(real(), "seconds; no order is shorter")},
                               {"optimal", truth()},
                               {"found_by", text()},
                               {"bubble_fraction", fraction()},
                               {"named",
                                described(text(),
                                          "the best schedule of the catalogue "
                                          "that keeps the limit"),
                                false},
                               {"named_makespan", described(real(), "seconds"), false}}))}}));
}

Json knob_value_schema() {
  return object(
      {{"value", text()},
       {"set", described(text(), "what is set, as --set takes it")},
       {"partners", described(text(), "of it, what changes beside the knob"), false},
       {"devices", whole(1)},
       {"legal", truth()},
       {"why_not", text(), false},
       {"field", described(text(), "of the plan, that is refused"), false},
       {"fix", text(), false},
       {"step_seconds", real(kSeconds), false},
       {"change", described(real(), "time of a token (a sample) against the plan's, less one"),
        false},
       {"peak_bytes", whole(), false},
       {"reserved_bytes", described(whole(), "of the device that has most reserved"), false},
       {"margin_bytes", described(signed_whole(), "negative = over"), false},
       {"fits", truth(), false},
       {"worst_device", whole(), false},
       {"maths", described(text(), "why its training is not the plan's step by step"), false},
       {"alternative", described(truth(), "the same value is better with other partners"), false}});
}

Json scaling_schema() {
  const auto band = [](std::string_view words) {
    return described(object({{"value", real()}, {"low", real()}, {"high", real()}}), words);
  };
  const auto curve = [&](std::string_view words) {
    return described(
        object({{"points",
                 list_of(object(
                     {{"devices", whole(1)},
                      {"legal", truth()},
                      {"fits", truth()},
                      {"global_batch", whole(1), false},
                      {"why_not", described(text(), "why it is not legal, or does not fit"), false},
                      {"degrees", described(text(), "arguments of --set"), false},
                      {"step_seconds", band("by the closed form"), false},
                      {"tokens_per_second", band("on all devices"), false},
                      {"samples_per_second", band("of a model without tokens"), false},
                      {"mfu", band("share of the peak"), false},
                      {"money", band("US dollars of money_per tokens (samples)"), false},
                      {"margin_bytes", described(signed_whole(), "negative = over"), false},
                      {"efficiency",
                       described(real(),
                                 "throughput per device over that of the fewest devices that fit"),
                       false},
                      {"added",
                       band("what the devices bring that were added since the next smaller number "
                            "that fits, as a share of their throughput"),
                       false}}))},
                {"pays_up_to", described(whole(1), "devices"), false},
                {"stops_paying_at", described(whole(1), "devices"), false},
                {"cheapest_at", described(whole(1), "devices"), false},
                {"sentence", described(text(), "up to how many devices it pays")},
                {"cheapest", described(text(), "where a token (a sample) costs least"), false}}),
        words);
  };
  return document(
      "trainyard/scaling",
      object({schema_member("trainyard/scaling"),
              {"model", text()},
              {"device", text()},
              {"own_devices", described(whole(1), "of the scenario's cluster")},
              {"degrees", one_of_words(std::vector<std::string_view>{"fixed", "searched"})},
              {"money_per", described(real(), "tokens, or samples of a model without tokens")},
              {"strong", curve("the global batch stays")},
              {"weak", curve("the batch of each device stays")}}));
}

Json tune_schema() {
  const auto seconds = [](std::string_view of) {
    return described(real(), std::string("seconds: ") + std::string(of));
  };
  const Json value = described(real(), "of the objective: seconds, bytes, dollars a step, loss");
  return document(
      "trainyard/tune",
      object({schema_member("trainyard/tune"),
              {"model", text()},
              {"cluster", text()},
              {"objective",
               one_of_words(std::vector<std::string_view>{"time", "memory", "money", "loss"})},
              {"measured", truth()},
              {"trials",
               list_of(object({{"family", described(whole(), "index into families")},
                               {"set", list_of(text())},
                               {"train", list_of(text()), false},
                               {"value", value, false},
                               {"why_not", described(text(), "it has no value because"), false},
                               {"cost_seconds", seconds("of this trial")},
                               {"spent_seconds", seconds("of all up to it")},
                               {"better", described(truth(), "than all before")}}))},
              {"families", list_of(object({{"settings", text()},
                                           {"trials", whole()},
                                           {"spent_seconds", seconds("of its trials")},
                                           {"best", value, false}}))},
              {"spent_seconds", seconds("of all trials")},
              {"exhausted", described(truth(), "nothing is left to try")},
              {"stopped", truth()},
              {"best",
               object({{"trial", described(whole(), "index into trials")},
                       {"value", value},
                       {"words", described(text(), "for a command line")}}),
               false}}));
}

Json knobs_schema() {
  return document(
      "trainyard/knobs",
      object({schema_member("trainyard/knobs"),
              {"model", text()},
              {"cluster", text()},
              {"step_seconds", real(kSeconds)},
              {"reserved_bytes", whole()},
              {"margin_bytes", signed_whole()},
              {"capacity_bytes", whole()},
              {"priced", described(whole(), "plans")},
              {"strips", list_of(object({{"knob", text()},
                                         {"now", text()},
                                         {"doc", text()},
                                         {"values", list_of(knob_value_schema())}}))}}));
}

// These are step and memory of one plan, together with the given members.
Json figures_schema(std::vector<Member> more) {
  more.insert(more.end(), {{"step_seconds", real(kSeconds)},
                           {"reserved_bytes", whole()},
                           {"margin_bytes", described(signed_whole(), "negative = over")},
                           {"fits", truth()}});
  return object(std::move(more));
}

Json boundary_schema() {
  return document("trainyard/boundary",
                  object({schema_member("trainyard/boundary"),
                          {"knob", text()},
                          {"sentence", text()},
                          {"tried", described(whole(), "plans priced")},
                          {"last", described(knob_value_schema(), "that fits"), false},
                          {"next", described(knob_value_schema(), "the first beyond it"), false}}));
}

Json flip_schema() {
  return document(
      "trainyard/flip",
      object(
          {schema_member("trainyard/flip"),
           {"winner", figures_schema({{"name", text()}})},
           {"runner_up", figures_schema({{"name", text()}})},
           {"sentence", text()},
           {"causes", list_of(object(
                          {{"cause", text()},
                           {"winner_seconds", real(kSeconds)},
                           {"runner_up_seconds", real(kSeconds)},
                           {"falls_to_seconds",
                            described(real(), "at which the plans tie, all else equal"), false}}))},
           {"flips", list_of(object({{"figure", text()},
                                     {"now", text()},
                                     {"at", text()},
                                     {"factor", described(real(), "at which the runner-up wins")},
                                     {"short_of", described(real(), "at which it does not")},
                                     {"winner_seconds", real(kSeconds)},
                                     {"runner_up_seconds", real(kSeconds)},
                                     {"sentence", text()}}))}}));
}

Json owners_schema() {
  return document(
      "trainyard/owners",
      object({schema_member("trainyard/owners"),
              {"device", whole()},
              {"phase", text()},
              {"at_seconds", real(kSeconds)},
              {"peak_bytes", whole()},
              {"activations", list_of(object({{"block", text()},
                                              {"module", text()},
                                              {"kind", text(), false},
                                              {"bytes", whole()},
                                              {"layers", whole()},
                                              {"microbatches", whole()}}))},
              {"other_activations", list_of(object({{"name", text()}, {"bytes", whole()}}))},
              {"units", list_of(object({{"block", text()},
                                        {"layers", whole()},
                                        {"weights_bytes", whole()},
                                        {"gradients_bytes", whole()},
                                        {"stays", truth()}}))},
              {"unsharded_bytes", whole()},
              {"most_unsharded_bytes", whole()},
              {"replicated", list_of(object({{"state", text()}, {"bytes", whole()}}))},
              {"replicas", whole(1)},
              {"recompute", text()}}));
}

Json wrapping_schema() {
  return document("trainyard/wrapping",
                  object({schema_member("trainyard/wrapping"),
                          {"wrappings", list_of(figures_schema({{"layers", whole(1)},
                                                                {"unit_bytes", whole()},
                                                                {"unsharded_bytes", whole()},
                                                                {"gathers", whole()}}))}}));
}

Json resharding_schema() {
  return document(
      "trainyard/resharding",
      object({schema_member("trainyard/resharding"),
              {"reshardings",
               list_of(figures_schema({{"ranks", whole(1)}, {"held_bytes", whole()}}))}}));
}

Json recomputation_schema() {
  const auto trades = [] {
    return list_of(object({{"method", text()},
                           {"how", text(), false},
                           {"kept_bytes", whole()},
                           {"peak_bytes", whole()},
                           {"seconds", real()},
                           {"optimal", truth(), false}}));
  };
  return document("trainyard/recomputation", object({schema_member("trainyard/recomputation"),
                                                     {"stage", whole()},
                                                     {"layers", whole(1)},
                                                     {"chain", trades()},
                                                     {"block", text()},
                                                     {"ops", whole(1)},
                                                     {"layer", trades()}}));
}

Json questions_schema() {
  return document("trainyard/questions",
                  object({schema_member("trainyard/questions"),
                          {"questions", list_of(object({{"question", text()},
                                                        {"command", text()},
                                                        {"interactions", whole(1)}}))}}));
}

Json calibration_schema() {
  return document(
      "trainyard/calibration",
      object({schema_member("trainyard/calibration"),
              {"machine", text()},
              {"overhead", described(text(), "of an executor, a kernel, as 500 ns"), false},
              {"copy", object({{"start", described(text(), "as 1.5 us")},
                               {"rate", described(text(), "as 17 GB/s")}})},
              {"reduce", described(text(), "of adding up, as 11 GB/s")},
              {"residual", object({{"median", real()}, {"worst", real()}})},
              {"kernels",
               list_of(object({{"kernel", described(text(), "op and pass, or optimizer")},
                               {"kind", text()},
                               {"math", text()},
                               {"shape", described(list_of(whole()), "count, m, n, k"), false},
                               {"flops", real()},
                               {"read_bytes", whole()},
                               {"written_bytes", whole()},
                               {"time", described(text(), "median, as 271 us")},
                               {"spread", described(real(), "of the median")},
                               {"repeats", whole(1)}}))},
              {"notes", list_of(text()), false}}));
}

Json profile_residual() {
  return described(object({{"median", real()}, {"p90", real()}, {"worst", real()}}),
                   "of the rows: |predicted / measured - 1|, groups equal");
}

Json profile_schema() {
  std::vector<Member> members;
  for (const ParameterInfo& row : parameter_table()) {
    Json value = described(real(), row.unit);
    value.set("minimum", row.low);
    value.set("maximum", row.high);
    members.push_back(
        {std::string(row.name),
         described(
             object({{"value", value},
                     {"shipped", std::move(value)},
                     {"determined", described(fraction(), "posterior over prior spread"), false}}),
             row.meaning),
         false});
  }
  return document(
      "trainyard/profile",
      object(
          {schema_member("trainyard/profile"),
           {"rows", described(text(), "which rows it was fitted to")},
           {"residual", object({{"shipped", profile_residual()}, {"fitted", profile_residual()}})},
           {"parameters", object(std::move(members))},
           {"notes", list_of(text()), false}}));
}

// Devices

Json device_schema() {
  return document("trainyard/device",
                  object({{"schema", constant(schema_name(schema("trainyard/device")))},
                          {"device", described(of_type("object"), "as a cluster's, written out")},
                          {"parameters",
                           described(list_of(object({{"name", text()},
                                                     {"value", real()},
                                                     {"prior", real()},
                                                     {"unit", text()},
                                                     {"meaning", text()},
                                                     {"source", text()},
                                                     {"fitted_on", text()}})),
                                     "what predictions for the device read beside its figures")}}));
}

// Runs

Json named_bytes() {
  std::vector<Member> members;
  for (int c = 0; c < kCategories; ++c)
    members.push_back({std::string(to_string(static_cast<Category>(c))), whole()});
  return object(std::move(members));
}

Json residual_schema() {
  return object({{"step", described(real(), "measured over predicted, minus 1")},
                 {"memory", described(real(),
                                      "farthest apart at the same point of the work, of the "
                                      "predicted peak; the worst rank's")},
                 {"critical_rank", whole()},
                 {"causes", list_of(object({{"cause", text()},
                                            {"predicted_seconds", real(kSeconds)},
                                            {"measured_seconds", real(kSeconds)}}))},
                 {"waves", list_of(object({{"rank", whole()},
                                           {"predicted_peak_bytes", whole()},
                                           {"measured_peak_bytes", whole()},
                                           {"predicted_categories", named_bytes()},
                                           {"measured_categories", named_bytes()},
                                           {"over_work", real()},
                                           {"over_time", real()}}))}});
}

Json check_schema() {
  return described(
      object(
          {{"backend", described(text(), "whose results are the expected ones")},
           {"agrees", truth()},
           {"difference", described(text(), "the first one, in words"), false},
           {"loss", described(Json::object(), "expected, by update")},
           {"loss_distance", described(Json::object(),
                                       "the largest, as a share of the expected loss; null where "
                                       "it is no finite number")},
           {"loss_tolerance", real()},
           {"parameter_distance",
            described(Json::object(),
                      "the largest, as a share of the largest parameter of its "
                      "layer; null where it is no finite number")},
           {"parameter_tolerance", real()}}),
      "the same training on a second backend; absent where it was stopped before it was done");
}

Json run_schema() {
  return document(
      "trainyard/run",
      object(
          {schema_member("trainyard/run"),
           {"digest", text()},
           {"backend", described(text(), "that trained; replay: nothing was trained")},
           {"data", text(), false},
           {"steps", described(whole(), "updates done, resumed ones included")},
           {"resumed_at", whole(), false},
           {"stopped", truth()},
           {"skipped", described(whole(), "updates whose gradients had overflowed")},
           {"loss", described(Json::object(), "by update; null where it is no finite number")},
           {"step_seconds", described(real(), "median; absent where no time is measured"), false},
           {"step_times", list_of(real()), false},
           {"samples_per_second", real(kAmount), false},
           {"devices", list_of(object({{"rank", whole()},
                                       {"peer", whole()},
                                       {"peak_bytes", whole()},
                                       {"reach_bytes", whole(), false},
                                       {"scratch_bytes", whole(), false},
                                       {"categories", named_bytes()}}))},
           {"evaluation",
            object({{"loss", real()}, {"accuracy", real(), false}, {"samples", whole()}}), false},
           {"check", check_schema(), false},
           {"memory", memory_schema(), false},
           {"breakdown_seconds", breakdown_schema(), false},
           {"bubble_fraction", real(), false},
           {"exposed_communication_fraction", real(), false},
           {"mfu", real(), false},
           {"residual", residual_schema(), false},
           {"predicted", result_object()}}));
}

Json runs_schema() {
  return document(
      "trainyard/runs",
      object({schema_member("trainyard/runs"),
              {"store", described(text(), "the file that holds them")},
              {"runs",
               list_of(object({{"id", whole(1)},
                               {"started", described(text(), "UTC")},
                               {"name", text()},
                               {"model", text()},
                               {"cluster", text()},
                               {"plan", text(), false},
                               {"settings", list_of(text())},
                               {"training", list_of(text())},
                               {"calibration", text(), false},
                               {"data", text()},
                               {"outcome", text()},
                               {"steps", whole()},
                               {"loss", described(real(), "of the last update"), false},
                               {"step_seconds", real(kSeconds), false},
                               {"predicted_step_seconds", real(kSeconds), false},
                               {"peak_bytes", described(whole(), "of the fullest device"), false},
                               {"predicted_peak_bytes", whole(), false},
                               {"note", text()},
                               {"tags", list_of(text())}}))}}));
}

Json comparison_schema() {
  const auto waterfall = [](const char* words) {
    return described(
        object({{"a", real()},
                {"b", real()},
                {"parts",
                 list_of(object(
                     {{"name", text()}, {"a", real()}, {"b", real()}, {"difference", real()}}))}}),
        words);
  };
  const Json fields = described(
      list_of(object({{"field", text()},
                      {"a", text()},
                      {"b", text()},
                      {"seconds", real()},
                      {"bytes", whole()}})),
      "of two plans: what each field adds, by the closed form, on top of those before it");
  const Json figures =
      described(list_of(object({{"name", text()},
                                {"a", real(), false},
                                {"b", real(), false},
                                {"less_is_better", truth()}})),
                "seconds, shares, bytes, dollars; absent where a document does not say");
  return document("trainyard/comparison", object({schema_member("trainyard/comparison"),
                                                  {"a", text()},
                                                  {"b", text()},
                                                  {"headline", text()},
                                                  {"reasons", list_of(text())},
                                                  {"figures", figures},
                                                  {"seconds", waterfall("by cause")},
                                                  {"bytes", waterfall("by category")},
                                                  {"fields", fields, false}}));
}

Json validation_schema() {
  const auto scores = [](const char* words) {
    return described(list_of(object({{"metric", text()},
                                     {"name", text()},
                                     {"n", whole()},
                                     {"groups", whole()},
                                     {"mean_absolute_percentage_error", real()},
                                     {"median", real()},
                                     {"p90", real()},
                                     {"max", real()},
                                     {"bias", real()},
                                     {"inside_band", fraction()}})),
                     words);
  };
  const Json assumed = list_of(object({{"setting", text()}, {"taken", text()}, {"why", text()}}));
  return document(
      "trainyard/validation",
      object({schema_member("trainyard/validation"),
              {"rows",
               described(list_of(object({{"id", text()},
                                         {"source", text()},
                                         {"group", text()},
                                         {"metric", text()},
                                         {"measured", real()},
                                         {"predicted", real()},
                                         {"low", real()},
                                         {"high", real()},
                                         {"error", real()},
                                         {"cross_error", real(), false},
                                         {"calibrated_error", real(), false},
                                         {"counts", truth()},
                                         {"routed", truth()},
                                         {"suspect", text(), false},
                                         {"assumed", assumed},
                                         {"explanation", text(), false}})),
                         "seconds of a step (of a layer) or bytes of a device; error is predicted "
                         "over measured less 1")},
              {"by_metric", scores("shares but for the first, groups weighted equally")},
              {"by_source", scores("the same of each source")},
              {"cross", scores("each source predicted without its own rows"), false},
              {"calibrated", scores("the same after three rows of the source"), false},
              {"kendall", real(), false},
              {"mean_half_width", real()},
              {"skipped", list_of(object({{"id", text()}, {"reason", text()}}))}}));
}

Json arena_schema() {
  return document(
      "trainyard/arena",
      object({schema_member("trainyard/arena"),
              {"alignment", described(whole(1), "bytes, of every offset")},
              {"capacity", described(whole(), "bytes"), false},
              {"reach", described(whole(), "bytes; end of the highest buffer")},
              {"lower_bound", described(whole(), "bytes; no placement reaches less")},
              {"gap", described(real(), "reach above the bound, of the bound")},
              {"optimal", described(truth(), "the bound is reached")},
              {"fits", described(truth(), "within the capacity, where one is given")},
              {"found_by", text()},
              {"nodes", whole()},
              {"seconds", real()},
              {"buffers", list_of(object({{"id", text()},
                                          {"from", signed_whole()},
                                          {"to", described(signed_whole(), "exclusive")},
                                          {"bytes", whole()},
                                          {"offset", whole()}}))}}));
}

Json trace_schema() {
  std::vector<Member> kinds;
  for (std::size_t k = 0; k < kRecordedKinds; ++k)
    kinds.push_back({to_string(static_cast<RecordedKind>(k)), real(), false});
  const Json defect = object({{"expected", text()},
                              {"found", text()},
                              {"assumed", described(text(), "what was done instead")},
                              {"line", described(whole(), "of the first, 0 where there are none")},
                              {"offset", described(whole(), "bytes before the first")},
                              {"count", whole(1)}});
  return document(
      "trainyard/trace",
      object(
          {schema_member("trainyard/trace"),
           {"source", text()},
           {"device", text(), false},
           {"ranks", whole(1), false},
           {"events", whole()},
           {"spans", whole()},
           {"seconds", real()},
           {"range", object({{"from", real()}, {"to", real()}})},
           {"step_seconds", described(real(), "median, without the first"), false},
           {"steps", list_of(object({{"process", text()},
                                     {"number", signed_whole()},
                                     {"from", real()},
                                     {"to", real()}}))},
           {"processes",
            list_of(object({{"process", text()},
                            {"rank", whole(), false},
                            {"spans", whole()},
                            {"compute_seconds", real(kSeconds)},
                            {"exposed_communication_seconds", real(kSeconds)},
                            {"exposed_transfer_seconds", real(kSeconds)},
                            {"idle_seconds", real(kSeconds)},
                            {"busy_seconds",
                             described(object(std::move(kinds)), "streams side by side, each")}}))},
           {"counters",
            list_of(object(
                {{"process", text()}, {"name", text()}, {"samples", whole(1)}, {"peak", real()}}))},
           {"notes", described(list_of(text()), "what was done with it"), false},
           {"defects", list_of(defect)}}));
}

Json links_schema() {
  return document(
      "trainyard/links",
      object({schema_member("trainyard/links"),
              {"source", text()},
              {"collective", text(), false},
              {"ranks", whole(1), false},
              {"bus_factor", described(real(), "busbw over algbw")},
              {"start_seconds", real()},
              {"bus_bytes_per_second", real()},
              {"median_error", described(real(), "of |fitted / measured - 1|")},
              {"worst_error", real()},
              {"held_out_error", described(real(), "median, of rows that the fit has not seen")},
              {"rows", list_of(object({{"bytes", whole()},
                                       {"in_place", truth()},
                                       {"measured_seconds", real(kSeconds)},
                                       {"fitted_seconds", real(kSeconds)},
                                       {"error", real()}}))}}));
}

Json snapshot_schema() {
  const Json cause = object({{"name", text()},
                             {"unexplained", described(real(), "of the measured peak")},
                             {"set", described(text(), "what --set would say of it"), false}});
  return document("trainyard/snapshot",
                  object({schema_member("trainyard/snapshot"),
                          {"source", text()},
                          {"device", whole()},
                          {"events", whole()},
                          {"peak_bytes", whole()},
                          {"reserved_bytes", whole()},
                          {"unused_bytes", described(whole(), "reserved and in no block")},
                          {"alive_at_peak", list_of(object({{"owner", text()},
                                                            {"category", text()},
                                                            {"bytes", whole()},
                                                            {"blocks", whole()}}))},
                          {"notes", list_of(text())},
                          {"rank", described(whole(), "of the plan"), false},
                          {"planned_peak_bytes", whole(), false},
                          {"divergence",
                           object({{"at_seconds", real(kSeconds)},
                                   {"category", text()},
                                   {"measured_bytes", whole()},
                                   {"planned_bytes", whole()},
                                   {"owner", text()}}),
                           false},
                          {"cause", cause, false},
                          {"others", list_of(cause), false},
                          {"sentence", text(), false}}));
}

// Lessons

Json lessons_schema() {
  return document("trainyard/lessons",
                  object({schema_member("trainyard/lessons"),
                          {"lessons", list_of(object({{"number", whole(1)},
                                                      {"name", text()},
                                                      {"title", text()},
                                                      {"goal", text()},
                                                      {"minutes", whole(1)},
                                                      {"steps", whole(1)}}))}}));
}

Json lesson_schema() {
  const Json question =
      object({{"id", text()},
              {"words", text()},
              {"unit", text()},
              {"low", real()},
              {"high", real()},
              {"within", described(real(), "that still counts as right, in the unit")},
              {"choices", list_of(object({{"value", real()}, {"words", text()}})), false},
              {"hint", text(), false},
              {"answer", described(real(), "in the unit; with --reveal"), false}});
  return document("trainyard/lesson",
                  object({schema_member("trainyard/lesson"),
                          {"number", whole(1)},
                          {"name", text()},
                          {"title", text()},
                          {"goal", text()},
                          {"minutes", whole(1)},
                          {"steps", list_of(object({{"number", whole(1)},
                                                    {"title", text()},
                                                    {"settings", text()},
                                                    {"prose", list_of(text())},
                                                    {"question", question, false},
                                                    {"after", list_of(text()), false},
                                                    {"check", text(), false}}))},
                          {"sources", list_of(text())},
                          {"open_question", text()},
                          {"leaves_out", text()}}));
}

Json lesson_figures_schema() {
  return document(
      "trainyard/lesson-figures",
      object({schema_member("trainyard/lesson-figures"),
              {"figures",
               list_of(object(
                   {{"lesson", whole(1)},
                    {"name", text()},
                    {"value", described(real(), "in the unit")},
                    {"unit", text()},
                    {"words", text()},
                    {"against",
                     list_of(object({{"source", text()},
                                     {"value", real()},
                                     {"deviation", described(real(), "share of the source's")},
                                     {"within", real()},
                                     {"refuted", truth()},
                                     {"holds", truth()}}))}}))}}));
}

Json answers_schema() {
  return document(
      "trainyard/answers",
      object({schema_member("trainyard/answers"),
              {"student", text()},
              {"answers", list_of(object({{"lesson", whole(1)},
                                          {"question", text()},
                                          {"unit", text()},
                                          {"value", real()},
                                          {"truth", real()},
                                          {"sure", text(), false}}))},
              {"progress",
               list_of(object({{"lesson", whole(1)}, {"step", whole()}, {"passed", truth()}}))}}));
}

Json histogram_schema() {
  return document("trainyard/histogram",
                  object({schema_member("trainyard/histogram"),
                          {"students", whole()},
                          {"questions", list_of(object({{"lesson", whole(1)},
                                                        {"question", text()},
                                                        {"unit", text()},
                                                        {"low", real()},
                                                        {"high", real()},
                                                        {"bins", list_of(whole())},
                                                        {"truth", real()},
                                                        {"answered", whole()},
                                                        {"right", whole()},
                                                        {"median", real()}}))}}));
}

struct Entry {
  std::string_view name;
  Json (*make)();
};
constexpr Entry kEntries[] = {{"plan", plan_schema},
                              {"result", result_schema},
                              {"search", search_schema},
                              {"order", order_schema},
                              {"schedules", schedules_schema},
                              {"trade", trade_schema},
                              {"knobs", knobs_schema},
                              {"boundary", boundary_schema},
                              {"flip", flip_schema},
                              {"owners", owners_schema},
                              {"wrapping", wrapping_schema},
                              {"resharding", resharding_schema},
                              {"recomputation", recomputation_schema},
                              {"questions", questions_schema},
                              {"scaling", scaling_schema},
                              {"tune", tune_schema},
                              {"calibration", calibration_schema},
                              {"run", run_schema},
                              {"runs", runs_schema},
                              {"comparison", comparison_schema},
                              {"profile", profile_schema},
                              {"validation", validation_schema},
                              {"device", device_schema},
                              {"arena", arena_schema},
                              {"trace", trace_schema},
                              {"snapshot", snapshot_schema},
                              {"links", links_schema},
                              {"lessons", lessons_schema},
                              {"lesson", lesson_schema},
                              {"lesson-figures", lesson_figures_schema},
                              {"answers", answers_schema},
                              {"histogram", histogram_schema}};

}  // namespace

std::vector<std::string> json_schema_names() {
  std::vector<std::string> names;
  for (const Entry& entry : kEntries) names.emplace_back(entry.name);
  return names;
}

std::string json_schema(const std::string& name) {
  for (const Entry& entry : kEntries)
    if (entry.name == name) return write_json(entry.make());
  throw Error(Error::Kind::InvalidInput,
              "no schema is called \"" + name + "\"" + did_you_mean(name, json_schema_names()),
              {"schema"});
}

}  // namespace trainyard

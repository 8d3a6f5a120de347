#include "app/cli/verbs/json_schemas.h"

#include <utility>

#include "app/cli/text/knob_answers.h"
#include "app/cli/text/knob_questions.h"
#include "app/cli/text/knobs_text.h"
#include "app/cli/text/waves_text.h"
#include "core/base/error.h"
#include "core/base/nearest.h"
#include "core/cost/parameters.h"
#include "core/io/documents/calibration_json.h"
#include "core/io/documents/device_json.h"
#include "core/io/documents/order_json.h"
#include "core/io/documents/plan_json.h"
#include "core/io/documents/profile_json.h"
#include "core/io/documents/recorded_trace_json.h"
#include "core/io/documents/result_json.h"
#include "core/io/documents/validation_json.h"
#include "core/io/json/json.h"
#include "core/io/json/quantity.h"
#include "core/io/json/schema.h"
#include "core/io/traces/nccl_tests_import.h"
#include "core/lesson/answers.h"
#include "core/methods/catalogue.h"
#include "core/methods/settings/settings.h"
#include "core/plan/plan.h"
#include "core/program/program.h"
#include "core/result/flops_definition.h"
#include "core/timeline/recorded_trace.h"

namespace trainyard {
namespace by_hand {
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

// Result

std::vector<Member> result_members() {
  std::vector<Member> members;
  for (const JsonField<Result>& field : result_fields().list())
    members.push_back({field.key, field.schema, field.presence == Presence::Always});
  return members;
}

Json result_object() { return result_fields().schema(); }

Json result_part(std::string_view key) {
  for (const Member& one : result_members())
    if (one.key == key) return one.schema;
  return {};
}

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
           {"memory", result_part("memory"), false},
           {"breakdown_seconds", result_part("breakdown_seconds"), false},
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

}  // namespace
}  // namespace by_hand

namespace {

using namespace by_hand;

struct Entry {
  std::string_view name;
  Json (*make)();
};
constexpr Entry kEntries[] = {{"plan", [] { return plan_fields().schema(); }},
                              {"result", [] { return result_fields().schema(); }},
                              {"search", search_schema},
                              {"order", [] { return order_fields().schema(); }},
                              {"schedules", schedules_schema},
                              {"trade", trade_schema},
                              {"knobs", trainyard::knobs_schema},
                              {"boundary", trainyard::boundary_schema},
                              {"flip", trainyard::flip_schema},
                              {"owners", trainyard::owners_schema},
                              {"wrapping", trainyard::wrapping_schema},
                              {"resharding", trainyard::resharding_schema},
                              {"recomputation", trainyard::recomputation_schema},
                              {"questions", trainyard::questions_schema},
                              {"scaling", scaling_schema},
                              {"waves", [] { return waves_fields().schema(); }},
                              {"tune", tune_schema},
                              {"calibration", [] { return calibration_fields().schema(); }},
                              {"run", run_schema},
                              {"runs", runs_schema},
                              {"comparison", comparison_schema},
                              {"profile", [] { return profile_fields().schema(); }},
                              {"validation", trainyard::validation_schema},
                              {"device", trainyard::device_schema},
                              {"arena", arena_schema},
                              {"trace", trainyard::trace_schema},
                              {"snapshot", snapshot_schema},
                              {"links", trainyard::links_schema},
                              {"lessons", lessons_schema},
                              {"lesson", lesson_schema},
                              {"lesson-figures", lesson_figures_schema},
                              {"answers", [] { return answers_fields().schema(); }},
                              {"histogram", histogram_schema}};

}  // namespace

std::vector<std::string> json_schema_names() {
  std::vector<std::string> names;
  for (const Entry& entry : kEntries) names.emplace_back(entry.name);
  return names;
}

std::string json_schema(const std::string& name) {
  for (const Entry& entry : kEntries)
    if (entry.name == name) return write_json(document_schema(entry.make()));
  throw Error(Error::Kind::InvalidInput,
              "no schema is called \"" + name + "\"" + did_you_mean(name, json_schema_names()),
              {"schema"});
}

}  // namespace trainyard

#include "core/io/documents/plan_json.h"

#include <algorithm>
#include <utility>

#include "core/base/nearest.h"
#include "core/io/bytes/files.h"
#include "core/io/documents/order_json.h"
#include "core/methods/catalogue.h"
#include "core/methods/settings/settings.h"
#include "core/plan/balanced.h"

namespace trainyard {
namespace {

// The limit keeps a hostile file from using much memory; no plan has that many stages.
constexpr std::size_t kMostStages = 100'000;

Json param(const ParamValue& value) {
  return std::visit([](const auto& v) { return Json(v); }, value);
}

Json choice_json(const Choice& choice) {
  Json json = Json::object();
  json.set("method", choice.method);
  for (const auto& [name, value] : choice.params.values()) json.set(name, param(value));
  return json;
}

ParamValue read_param(const ParamSpec& spec, const JsonCursor& at) {
  struct Read {
    const ParamSpec& spec;
    const JsonCursor& at;
    ParamValue operator()(bool) const { return at.boolean(); }
    ParamValue operator()(std::int64_t) const { return at.integer(); }
    ParamValue operator()(double) const { return at.number(); }
    ParamValue operator()(const std::string&) const {
      // A parameter that was a switch in older files and has further words now still accepts a
      // boolean.
      const bool was_switch = std::count(spec.values.begin(), spec.values.end(), "on") > 0;
      if (was_switch && at.value().boolean() != nullptr) return at.boolean();
      return at.text();
    }
  };
  const ParamValue value = std::visit(Read{spec, at}, spec.fallback);
  return parse_param(spec, to_text(value), at.place());
}

Choice read_choice(const JsonCursor& at, const Plan& plan, Diagnostics& found) {
  std::vector<std::string> names;
  for (const Method& known : methods()) names.emplace_back(known.name);
  const JsonCursor word = at.at("method");
  const std::string name = word.text();
  if (!find_method(name))
    word.refuse("no method is called \"" + name.substr(0, 80) + "\"" + did_you_mean(name, names));
  if (find_choice(plan, name)) word.refuse("\"" + name + "\" is chosen twice");
  Choice choice{name, {}};
  std::vector<std::string> known = {"method"};
  for (const ParamSpec& spec : method(name).params) {
    known.emplace_back(spec.name);
    attempt(&found, [&] {
      if (const auto member = at.find(spec.name))
        choice.params.set(std::string(spec.name), read_param(spec, *member));
    });
  }
  const Diagnostics unknown = at.unknown_keys(known);
  found.insert(found.end(), unknown.begin(), unknown.end());
  return choice;
}

void read_choices(Plan& plan, const JsonCursor& at) {
  Diagnostics found;
  for (const JsonCursor& item : at.items())
    attempt(&found, [&] { plan.choices.push_back(read_choice(item, plan, found)); });
  throw_if_errors(found);
}

Json param_schema(const ParamSpec& spec) {
  struct Of {
    const ParamSpec& spec;
    Json operator()(bool) const { return truth().schema; }
    Json operator()(std::int64_t) const {
      return whole(static_cast<std::int64_t>(spec.low)).schema;
    }
    Json operator()(double) const { return number().schema; }
    Json operator()(const std::string&) const {
      return spec.values.empty() ? text().schema
                                 : one_of({spec.values.begin(), spec.values.end()}).schema;
    }
  };
  return described(std::visit(Of{spec}, spec.fallback), spec.doc);
}

// The parameters are the methods' own lists, which reading and the schema both follow.
Json choice_schema() {
  Json::List all;
  for (const Method& method : methods()) {
    Json::Object members = {{"method", constant_schema(method.name)}};
    for (const ParamSpec& spec : method.params)
      members.push_back({std::string(spec.name), param_schema(spec)});
    all.push_back(described(object_schema(std::move(members), {"method"}), method.summary));
  }
  return one_of_schema(std::move(all));
}

Json split_schema() {
  return one_of_schema({described(list_of(whole()).schema, "layers of each virtual stage"),
                        one_of({"even", "balanced"}).schema});
}

std::optional<Json> split_json(const Plan& plan) {
  if (is_balanced_later(plan.split)) return setting(plan, "split");
  if (plan.split.layers.empty()) return std::nullopt;
  return Json(Json::List(plan.split.layers.begin(), plan.split.layers.end()));
}

void read_split(Plan& plan, const JsonCursor& at) {
  if (at.value().text() != nullptr)
    return apply_setting(plan, "split", at.one_of({"even", "balanced"}), at.place());
  const std::vector<JsonCursor> items = at.items();
  if (items.size() > kMostStages) at.refuse("expected at most 100000 stages");
  for (const JsonCursor& item : items)
    plan.split.layers.push_back(static_cast<int>(item.integer(0, 1'000'000)));
}

std::optional<Json> order_lines(const Plan& plan) {
  if (plan.order.empty()) return std::nullopt;
  return lines_json(plan.order);
}

// Reads a list of lines; errors are placed at the list.
void read_order_lines(Plan& plan, const JsonCursor& at) {
  plan.order = to_text(parse_order(joined_lines(at), at.place()));
}

// Reads a member through the setting of that key, so that files and --set have the same ranges and
// words.
auto set_by(std::string_view key) {
  return [key](Plan& plan, const JsonCursor& at) {
    const std::string word = at.value().text() ? at.text() : std::to_string(at.integer());
    find_setting(key)->apply(plan, word, at.place());
  };
}

void read_flash_attention(Plan& plan, const JsonCursor& at) {
  apply_setting(plan, "flash-attention", at.boolean() ? "on" : "off", at.place());
}

Fields<Plan> mesh_fields() {
  const auto of = [](auto member) { return in(&Plan::mesh, member); };
  return {{"tp", of(&Mesh::tp), whole(1), kDefaulted, set_by("tp")},
          {"cp", of(&Mesh::cp), whole(1), kDefaulted, set_by("cp")},
          {"ep", of(&Mesh::ep), whole(1), kDefaulted, set_by("ep")},
          {"etp", of(&Mesh::etp), whole(1), set_by("etp")},
          {"dp", of(&Mesh::dp), whole(1), set_by("dp")},
          {"pp", of(&Mesh::pp), whole(1), kDefaulted, set_by("pp")},
          {"order", of(&Mesh::order), kDefaulted, set_by("rank-order"),
           "fastest first, as tp-cp-ep-dp-pp"}};
}

Fields<Plan> batch_fields() {
  const auto of = [](auto member) { return in(&Plan::batch, member); };
  return {{"global", of(&Batch::global), whole(1), kWhereSet, set_by("global-batch")},
          {"micro", of(&Batch::micro), whole(1), kDefaulted, set_by("micro-batch")},
          {"sequence", of(&Batch::sequence), whole(1), kWhereSet, set_by("seq")}};
}

Fields<Plan> software_fields() {
  const auto of = [](const char* key, auto member) {
    const Setting& one = *find_setting(key);
    return JsonField<Plan>(key, in(&Plan::software, member),
                           one_of({one.values.begin(), one.values.end()}), kWhereSet, set_by(key),
                           one.doc);
  };
  Form<std::string> release = text();
  release.read = [](const JsonCursor& at) {
    std::string month = at.text();
    if (!month.empty()) try {
        release_month(month);
      } catch (const Error& error) {
        at.refuse(error.what());
      }
    return month;
  };
  return {of("framework", &Software::framework),
          of("kernels", &Software::kernels),
          of("attention", &Software::attention),
          of("cuda-graphs", &Software::graphs),
          {"release", in(&Plan::software, &Software::release), release, kWhereSet,
           set_by("release"), find_setting("release")->doc}};
}

Fields<Plan> plan_members() {
  std::vector<std::string> known_optimizers;
  for (const Optimizer& known : optimizers()) known_optimizers.emplace_back(known.name);
  const Form<Choice> choice = {choice_schema(), choice_json};
  return {
      {"name", &Plan::name, kWhereSet},
      {"mesh", mesh_fields(), kDefaulted},
      {"virtual_stages", &Plan::virtual_stages, whole(1), kDefaulted, set_by("virtual-stages")},
      {"batch", batch_fields(), kDefaulted},
      {"split", split_json, any(split_schema()), read_split},
      {"order", order_lines, any(list_schema(text().schema)), read_order_lines,
       "an edited order, one line a lane"},
      {"optimizer", &Plan::optimizer, one_of(known_optimizers), kDefaulted, set_by("optimizer")},
      {"software", software_fields(), kWhereSet},
      {"flash_attention", &Plan::flash_attention, kDefaulted, read_flash_attention},
      {"choices", &Plan::choices, list_of(choice), kDefaulted, read_choices}};
}

}  // namespace

const Fields<Plan>& plan_fields() {
  static const Fields<Plan> fields = document_fields("trainyard/plan", plan_members());
  return fields;
}

Json to_json(const Plan& plan) { return plan_fields().write(plan); }

std::string plan_document(const Plan& plan) { return write_json(to_json(plan)); }

Plan parse_plan(std::string_view text, const std::string& source) {
  const Json document = read_document(text, "trainyard/plan", source);
  Plan plan;
  Diagnostics found;
  plan_fields().read(JsonCursor(document, source), plan, &found);
  throw_if_errors(found);
  return plan;
}

Plan read_plan(const std::string& path) { return parse_plan(read_file(path), path); }

}  // namespace trainyard

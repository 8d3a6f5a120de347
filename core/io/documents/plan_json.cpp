#include "core/io/documents/plan_json.h"

#include <algorithm>
#include <utility>

#include "core/base/nearest.h"
#include "core/io/bytes/files.h"
#include "core/io/documents/order_json.h"
#include "core/io/json/schema.h"
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

Json mesh_json(const Mesh& mesh) {
  Json json = Json::object();
  json.set("tp", mesh.tp);
  json.set("cp", mesh.cp);
  json.set("ep", mesh.ep);
  if (mesh.dp) json.set("dp", *mesh.dp);
  json.set("pp", mesh.pp);
  json.set("order", mesh.order);
  if (mesh.etp) json.set("etp", *mesh.etp);
  return json;
}

Json batch_json(const Batch& batch) {
  Json json = Json::object();
  if (batch.global > 0) json.set("global", batch.global);
  json.set("micro", batch.micro);
  if (batch.sequence > 0) json.set("sequence", batch.sequence);
  return json;
}

Json choice_json(const Choice& choice) {
  Json json = Json::object();
  json.set("method", choice.method);
  for (const auto& [name, value] : choice.params.values()) json.set(name, param(value));
  return json;
}

// PlanReader reads members and continues after a wrong one, so that all errors are reported at
// once.
class PlanReader {
 public:
  explicit PlanReader(Diagnostics& found) : found_(found) {}

  template <class F>
  void attempt(F&& f) {
    try {
      f();
    } catch (const Error& error) {
      found_.push_back({Diagnostic::Severity::Error, error.what(), error.place(), ""});
    }
  }

  template <class F>
  void member(const JsonCursor& object, std::string_view key, F&& f) {
    attempt([&] {
      if (const auto found = object.find(key)) f(*found);
    });
  }

  /// Reads a member through the setting of that key, so that files and --set have the same ranges
  /// and words.
  void member(const JsonCursor& object, std::string_view key, Plan& plan,
              std::string_view set_key) {
    member(object, key, [&](const JsonCursor& at) {
      const std::string word = at.value().text() ? at.text() : std::to_string(at.integer());
      find_setting(set_key)->apply(plan, word, at.place());
    });
  }

  void keys(const JsonCursor& object, const std::vector<std::string>& known) {
    attempt([&] {
      const Diagnostics unknown = object.unknown_keys(known);
      found_.insert(found_.end(), unknown.begin(), unknown.end());
    });
  }

 private:
  Diagnostics& found_;
};

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

void read_choice(PlanReader& reader, const JsonCursor& at, Plan& plan) {
  std::vector<std::string> names;
  for (const Method& known : methods()) names.emplace_back(known.name);
  const JsonCursor word = at.at("method");
  const std::string name = word.text();
  if (!find_method(name))
    word.refuse("no method is called \"" + name.substr(0, 80) + "\"" + did_you_mean(name, names));
  if (find_choice(plan, name)) word.refuse("\"" + name + "\" is chosen twice");
  const Method& chosen = method(name);
  Choice choice{name, {}};
  std::vector<std::string> known = {"method"};
  for (const ParamSpec& spec : chosen.params) {
    known.emplace_back(spec.name);
    reader.member(at, spec.name, [&](const JsonCursor& member) {
      choice.params.set(std::string(spec.name), read_param(spec, member));
    });
  }
  reader.keys(at, known);
  plan.choices.push_back(std::move(choice));
}

void read_split(const JsonCursor& at, Plan& plan) {
  if (at.value().text() != nullptr)
    return apply_setting(plan, "split", at.one_of({"even", "balanced"}), at.place());
  const std::vector<JsonCursor> items = at.items();
  if (items.size() > kMostStages) at.refuse("expected at most 100000 stages");
  for (const JsonCursor& item : items)
    plan.split.layers.push_back(static_cast<int>(item.integer(0, 1'000'000)));
}

// Reads a list of lines; errors are placed at the list.
void read_order(const JsonCursor& at, Plan& plan) {
  plan.order = to_text(parse_order(joined_lines(at), at.place()));
}

void read_mesh(PlanReader& reader, const JsonCursor& at, Plan& plan) {
  reader.keys(at, {"tp", "cp", "ep", "etp", "dp", "pp", "order"});
  for (const char* degree : {"tp", "cp", "ep", "etp", "dp", "pp"})
    reader.member(at, degree, plan, degree);
  reader.member(at, "order", plan, "rank-order");
}

void read_batch(PlanReader& reader, const JsonCursor& at, Plan& plan) {
  reader.keys(at, {"global", "micro", "sequence"});
  reader.member(at, "global", plan, "global-batch");
  reader.member(at, "micro", plan, "micro-batch");
  reader.member(at, "sequence", plan, "seq");
}

void read_software(PlanReader& reader, const JsonCursor& at, Plan& plan) {
  reader.keys(at, {"framework", "kernels", "attention"});
  reader.member(at, "framework", plan, "framework");
  reader.member(at, "kernels", plan, "kernels");
  reader.member(at, "attention", plan, "attention");
}

Json software_json(const Software& software) {
  Json json = Json::object();
  if (!software.framework.empty()) json.set("framework", software.framework);
  if (!software.kernels.empty()) json.set("kernels", software.kernels);
  if (!software.attention.empty()) json.set("attention", software.attention);
  return json;
}

void read_members(PlanReader& reader, const JsonCursor& root, Plan& plan) {
  reader.keys(root, {"schema", "name", "mesh", "virtual_stages", "batch", "split", "order",
                     "optimizer", "software", "flash_attention", "choices"});
  reader.member(root, "name", [&](const JsonCursor& at) { plan.name = at.text(); });
  reader.member(root, "mesh", [&](const JsonCursor& at) { read_mesh(reader, at, plan); });
  reader.member(root, "virtual_stages", plan, "virtual-stages");
  reader.member(root, "batch", [&](const JsonCursor& at) { read_batch(reader, at, plan); });
  reader.member(root, "split", [&](const JsonCursor& at) { read_split(at, plan); });
  reader.member(root, "order", [&](const JsonCursor& at) { read_order(at, plan); });
  reader.member(root, "optimizer", plan, "optimizer");
  reader.member(root, "software", [&](const JsonCursor& at) { read_software(reader, at, plan); });
  reader.member(root, "flash_attention", [&](const JsonCursor& at) {
    apply_setting(plan, "flash-attention", at.boolean() ? "on" : "off", at.place());
  });
  reader.member(root, "choices", [&](const JsonCursor& at) {
    for (const JsonCursor& item : at.items())
      reader.attempt([&] { read_choice(reader, item, plan); });
  });
}

}  // namespace

Json to_json(const Plan& plan) {
  Json json = Json::object();
  json.set("schema", schema_name(schema("trainyard/plan")));
  if (!plan.name.empty()) json.set("name", plan.name);
  json.set("mesh", mesh_json(plan.mesh));
  json.set("virtual_stages", plan.virtual_stages);
  json.set("batch", batch_json(plan.batch));
  if (is_balanced_later(plan.split)) {
    json.set("split", setting(plan, "split"));
  } else if (!plan.split.layers.empty()) {
    Json split = Json::list();
    for (const int layers : plan.split.layers) split.push(layers);
    json.set("split", std::move(split));
  }
  if (!plan.order.empty()) json.set("order", lines_json(plan.order));
  json.set("optimizer", plan.optimizer);
  if (plan.software != Software{}) json.set("software", software_json(plan.software));
  json.set("flash_attention", plan.flash_attention);
  Json choices = Json::list();
  for (const Choice& choice : plan.choices) choices.push(choice_json(choice));
  json.set("choices", std::move(choices));
  return json;
}

std::string plan_document(const Plan& plan) { return write_json(to_json(plan)); }

Plan parse_plan(std::string_view text, const std::string& source) {
  const Json document = read_document(text, "trainyard/plan", source);
  Plan plan;
  Diagnostics found;
  PlanReader reader(found);
  read_members(reader, JsonCursor(document, source), plan);
  throw_if_errors(found);
  return plan;
}

Plan read_plan(const std::string& path) { return parse_plan(read_file(path), path); }

}  // namespace trainyard

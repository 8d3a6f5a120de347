#include <algorithm>
#include <charconv>
#include <iterator>

#include "core/io/documents/project.h"
#include "core/io/json/fields.h"

namespace trainyard {
namespace {

constexpr std::string_view kProjectSchema = "trainyard/project";

bool known(const std::vector<std::string>& keys, const std::string& key) {
  return std::find(keys.begin(), keys.end(), key) != keys.end();
}

// Moves the members that are not in the list out of the object and returns them.
Json::Object split_unknown(Json& object, const std::vector<std::string>& keys) {
  Json::Object out;
  Json::Object* members = object.as_object();
  if (members == nullptr) return out;
  const auto rest = std::stable_partition(members->begin(), members->end(),
                                          [&](const JsonMember& m) { return known(keys, m.key); });
  std::move(rest, members->end(), std::back_inserter(out));
  members->erase(rest, members->end());
  return out;
}

// Returns a copy of the document's plans; empty where there are none.
Json::List plans_of(const Json& document) {
  const Json* plans = document.find("plans");
  return plans == nullptr || plans->as_list() == nullptr ? Json::List{} : *plans->as_list();
}

// Returns the version after "trainyard/project@", 0 where the text has no such form.
int project_version(const Json& document) {
  if (!has_schema(document, kProjectSchema)) return 0;
  const std::string name = *document.find("schema")->text();
  const std::size_t at = name.rfind('@');
  int version = 0;
  if (at == std::string::npos) return 0;
  const char* last = name.data() + name.size();
  const auto [end, error] = std::from_chars(name.data() + at + 1, last, version);
  return error == std::errc() && end == last && version > 0 ? version : 0;
}

std::string plan_name(const Json& plan) {
  const Json* name = plan.find("name");
  return name == nullptr || name->text() == nullptr ? "" : *name->text();
}

}  // namespace

ProjectFile read_project(std::string_view text, const std::string& source) {
  ProjectFile file;
  Json document = parse_json(text, source);
  file.version = project_version(document);
  if (file.version <= schema(kProjectSchema).version()) {
    file.project = parse_project(text, source);
    return file;
  }
  file.newer = true;
  file.original = text;
  for (const JsonMember& member : split_unknown(document, project_fields().keys()))
    file.unknown.push_back("#/" + member.key);
  Json::List plans = plans_of(document);
  for (std::size_t i = 0; i < plans.size(); ++i)
    for (const JsonMember& member : split_unknown(plans[i], project_plan_fields().keys()))
      file.unknown.push_back("#/plans/" + std::to_string(i) + "/" + member.key);
  if (!plans.empty()) document.set("plans", Json(std::move(plans)));
  document.set("schema", schema_name(schema(kProjectSchema)));
  file.project = parse_project(write_json(document), source);
  return file;
}

std::string project_document(const Project& project, const std::string& original) {
  Json document = parse_json(project_document(project), "project");
  Json before = parse_json(original, "original");
  const Json* name = before.find("schema");
  const Json written = name == nullptr ? Json() : *name;
  Json::List plans = plans_of(document);
  Json::List old_plans = plans_of(before);
  for (Json& old : old_plans) {
    const std::string plan = plan_name(old);
    const Json::Object kept = split_unknown(old, project_plan_fields().keys());
    for (Json& now : plans)
      if (plan_name(now) == plan)
        for (const JsonMember& member : kept) now.set(member.key, member.value);
  }
  document.set("plans", Json(std::move(plans)));
  for (const JsonMember& member : split_unknown(before, project_fields().keys()))
    document.set(member.key, member.value);
  if (!written.is_null()) document.set("schema", written);
  return write_json(document);
}

}  // namespace trainyard

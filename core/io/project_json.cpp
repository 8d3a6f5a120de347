#include <nlohmann/json.hpp>

#include "core/io/project.h"

namespace trainyard {
namespace {

using nlohmann::json;
constexpr std::string_view kSchema = "trainyard/project@1";
constexpr std::size_t kMostPlans = 1000;

[[noreturn]] void refuse(const Place& place, const std::string& at, const std::string& expected, const json& found) {
  throw Error(Error::Kind::InvalidInput, "expected " + expected + ", found " + found.dump().substr(0, 60),
              {place.text + "#" + at});
}

std::string text_at(const json& object, const std::string& key, const Place& place, const std::string& at) {
  const auto found = object.find(key);
  if (found == object.end()) return "";
  if (!found->is_string()) refuse(place, at + "/" + key, "a text", *found);
  return found->get<std::string>();
}

void only_known(const json& object, const std::vector<std::string_view>& keys, const Place& place, const std::string& at) {
  for (const auto& [key, value] : object.items())
    if (std::find(keys.begin(), keys.end(), key) == keys.end())
      throw Error(Error::Kind::InvalidInput, "a project has no field called \"" + key.substr(0, 60) + "\"",
                  {place.text + "#" + at});
}

ProjectPlan plan_of(const json& value, const Place& place, const std::string& at) {
  if (!value.is_object()) refuse(place, at, "an object", value);
  only_known(value, {"name", "file", "settings"}, place, at);
  ProjectPlan plan{text_at(value, "name", place, at), text_at(value, "file", place, at), {}};
  if (const auto list = value.find("settings"); list != value.end()) {
    if (!list->is_array()) refuse(place, at + "/settings", "a list of texts", *list);
    for (const json& word : *list) {
      if (!word.is_string()) refuse(place, at + "/settings", "a text such as \"tp=8\"", word);
      plan.settings.push_back(word.get<std::string>());
    }
  }
  return plan;
}

json parse(std::string_view text, const Place& place) {
  try {
    // Depth is bounded, so that a file of brackets cannot exhaust the stack of whoever walks the value.
    const auto shallow = [](int depth, json::parse_event_t, json&) {
      if (depth > 16) throw Error(Error::Kind::InvalidInput, "expected a project, found lists within lists");
      return true;
    };
    return json::parse(text, shallow);
  } catch (const json::parse_error& error) {
    throw Error(Error::Kind::InvalidInput, "expected JSON, found something else at byte " + std::to_string(error.byte),
                place);
  }
}

}  // namespace

std::string to_json(const Project& project) {
  json plans = json::array();
  for (const ProjectPlan& plan : project.plans) {
    json one = {{"name", plan.name}, {"settings", plan.settings}};
    if (!plan.file.empty()) one["file"] = plan.file;
    plans.push_back(std::move(one));
  }
  const json document = {{"schema", kSchema},
                         {"model", project.model},
                         {"cluster", project.cluster},
                         {"plans", std::move(plans)},
                         {"current", project.current},
                         {"perspective", project.perspective},
                         {"automatic", project.automatic}};
  return document.dump(2) + "\n";
}

Project parse_project(std::string_view text, const Place& place) {
  const json document = parse(text, place);
  if (!document.is_object()) refuse(place, "", "an object", document);
  if (text_at(document, "schema", place, "") != kSchema)
    throw Error(Error::Kind::InvalidInput, "expected schema \"" + std::string(kSchema) + "\", found \"" +
                                               text_at(document, "schema", place, "").substr(0, 60) + "\"",
                place);
  only_known(document, {"schema", "model", "cluster", "plans", "current", "perspective", "automatic"}, place, "");
  Project project;
  project.model = text_at(document, "model", place, "");
  project.cluster = text_at(document, "cluster", place, "");
  if (const auto plans = document.find("plans"); plans != document.end()) {
    if (!plans->is_array() || plans->size() > kMostPlans) refuse(place, "/plans", "a list of at most 1000 plans", *plans);
    for (std::size_t i = 0; i < plans->size(); ++i)
      project.plans.push_back(plan_of((*plans)[i], place, "/plans/" + std::to_string(i)));
  }
  if (const auto current = document.find("current"); current != document.end()) {
    const auto last = static_cast<std::int64_t>(std::max<std::size_t>(project.plans.size(), 1)) - 1;
    if (!current->is_number_integer() || current->get<double>() < 0 || current->get<double>() > static_cast<double>(last))
      refuse(place, "/current", "a whole number from 0 to " + std::to_string(last), *current);
    project.current = current->get<int>();
  }
  if (document.contains("perspective")) {
    project.perspective = text_at(document, "perspective", place, "");
    if (project.perspective != "design" && project.perspective != "analyse")
      refuse(place, "/perspective", "\"design\" or \"analyse\"", document["perspective"]);
  }
  if (const auto automatic = document.find("automatic"); automatic != document.end()) {
    if (!automatic->is_boolean()) refuse(place, "/automatic", "true or false", *automatic);
    project.automatic = automatic->get<bool>();
  }
  return project;
}

bool looks_like_project(std::string_view text) { return text.substr(0, 4096).find("trainyard/project") != std::string_view::npos; }

}  // namespace trainyard

#include "core/io/project.h"

namespace trainyard {
namespace {

bool sets(std::string_view assignment, std::string_view key) {
  return assignment.size() > key.size() && assignment.substr(0, key.size()) == key &&
         assignment[key.size()] == '=';
}

}  // namespace

Project with_setting(Project project, int plan, std::string_view key, std::string_view value) {
  std::vector<std::string>& settings = project.plans[static_cast<std::size_t>(plan)].settings;
  const std::string assignment = std::string(key) + "=" + std::string(value);
  for (std::string& before : settings)
    if (sets(before, key)) return before = assignment, project;
  settings.push_back(assignment);
  return project;
}

ShownPart shown_part(std::string_view name) {
  if (name == "planner") return {"analyse", "plans"};
  if (name == "published") return {"calibrate", "published"};
  return {std::string(name), ""};
}

std::string own_setting(const ProjectPlan& plan, std::string_view key) {
  for (const std::string& assignment : plan.settings)
    if (sets(assignment, key)) return assignment.substr(key.size() + 1);
  return "";
}

}  // namespace trainyard

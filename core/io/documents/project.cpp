#include "core/io/documents/project.h"

#include <algorithm>

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

namespace {

bool is_of(const ComparisonNote& note, std::string_view a, std::string_view b) {
  return (note.a == a && note.b == b) || (note.a == b && note.b == a);
}

}  // namespace

std::string note_on(const Project& project, std::string_view a, std::string_view b) {
  for (const ComparisonNote& note : project.notes)
    if (is_of(note, a, b)) return note.text;
  return "";
}

Project with_note(Project project, std::string_view a, std::string_view b, std::string_view text) {
  std::vector<ComparisonNote>& notes = project.notes;
  const auto found = std::find_if(notes.begin(), notes.end(),
                                  [&](const ComparisonNote& note) { return is_of(note, a, b); });
  if (text.empty()) {
    if (found != notes.end()) notes.erase(found);
  } else if (found != notes.end()) {
    found->text = text;
  } else {
    notes.push_back({std::string(a), std::string(b), std::string(text)});
  }
  return project;
}

bool same_but_marks(const Project& a, const Project& b) {
  Project x = a, y = b;
  for (ProjectPlan& plan : x.plans) plan.marks.clear();
  for (ProjectPlan& plan : y.plans) plan.marks.clear();
  return x == y;
}

std::string own_setting(const ProjectPlan& plan, std::string_view key) {
  for (const std::string& assignment : plan.settings)
    if (sets(assignment, key)) return assignment.substr(key.size() + 1);
  return "";
}

}  // namespace trainyard

// A Project is what the window keeps in a file: which model on which cluster, and the plans tried
// for it, each in the words of the command line. Results are not kept: they follow from it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"

namespace trainyard {

struct ProjectPlan {
  std::string name;                   // "A", what the window lists it as
  std::string file;                   // what --plan says; empty: a plan of settings alone
  std::vector<std::string> settings;  // what --set says, "tp=8", each key at most once
  friend bool operator==(const ProjectPlan&, const ProjectPlan&) = default;
};

struct Project {
  std::string model, cluster;  // what --model and --cluster say; empty: not chosen yet
  std::vector<ProjectPlan> plans;
  int current = 0;                     // index into plans; 0 where there is none
  std::string perspective = "design";  // or "analyse", "published", "planner"
  bool automatic = true;               // simulate after each change
  friend bool operator==(const Project&, const Project&) = default;
};

/// The project as a trainyard/project@1 document; equal projects give equal bytes.
std::string project_document(const Project&);
/// Throws Error{InvalidInput} naming the field, what was expected and what was found.
Project parse_project(std::string_view text, const std::string& source);
/// The project with that setting of a plan at that value; the key's place in the list is kept.
Project with_setting(Project, int plan, std::string_view key, std::string_view value);
/// The value that the plan's own settings give the key, or "".
std::string own_setting(const ProjectPlan&, std::string_view key);

}  // namespace trainyard

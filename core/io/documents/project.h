// A Project is what the window keeps in a file: which model on which cluster, and the plans tried
// for it, each in the words of the command line. Results are not kept: they follow from it.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"

namespace trainyard {

/// A place in a plan's run that somebody wants to find again: a moment where both ends are the
/// same, else a range. Nanoseconds from the start of the run, 0 <= from <= to.
struct ProjectMark {
  std::int64_t from = 0, to = 0;
  std::string name;  // may be empty
  friend bool operator==(const ProjectMark&, const ProjectMark&) = default;
};

struct ProjectPlan {
  std::string name;                   // "A", what the window lists it as
  std::string file;                   // what --plan says; empty: a plan of settings alone
  std::vector<std::string> settings;  // what --set says, "tp=8", each key at most once
  std::vector<ProjectMark> marks{};
  friend bool operator==(const ProjectPlan&, const ProjectPlan&) = default;
};

/// What somebody wrote about two results beside each other.
struct ComparisonNote {
  std::string a, b;  // how the results are called, "A", "published:ID", "run:7"
  std::string text;
  friend bool operator==(const ComparisonNote&, const ComparisonNote&) = default;
};

struct Project {
  /// What --model and --cluster say, or a whole document on one line where the project keeps its
  /// own (core/io/json/inline_document.h); empty: not chosen yet.
  std::string model, cluster;
  /// The prices that somebody measured and accepted, as a whole document on one line
  /// (core/io/documents/measured_prices.h); empty: the workbench's own.
  std::string calibration;
  std::vector<ProjectPlan> plans;
  std::vector<ComparisonNote> notes;   // none empty, at most one a pair
  int current = 0;                     // index into plans; 0 where there is none
  std::string perspective = "design";  // one of kPerspectiveNames
  std::string tab;                     // of that perspective; empty: its first
  bool automatic = true;               // simulate after each change
  friend bool operator==(const Project&, const Project&) = default;
};

inline constexpr std::array<std::string_view, 5> kPerspectiveNames = {
    "design", "analyse", "compare", "calibrate", "learn"};
/// What a perspective was called when it was one of its own, and where that is now: "planner" is
/// the tab "plans" of "analyse", "published" that of "calibrate". Other names stay, with no tab.
struct ShownPart {
  std::string perspective, tab;
};
ShownPart shown_part(std::string_view name);

/// The project as a trainyard/project document; equal projects give equal bytes.
std::string project_document(const Project&);
/// Throws Error{InvalidInput} naming the field, what was expected and what was found.
Project parse_project(std::string_view text, const std::string& source);
/// The members of a project document and of a plan in it.
const std::vector<std::string>& project_keys();
const std::vector<std::string>& project_plan_keys();

/// A project file as it was found. A newer Trainyard's file is read as far as it is understood and
/// kept whole, so that saving it under another name loses nothing.
struct ProjectFile {
  Project project;
  int version = 0;                   // of the file
  bool newer = false;                // than what is written here: not to be overwritten
  std::vector<std::string> unknown;  // what was not understood: "#/shapes", "#/plans/0/colour"
  std::string original;              // its text where newer, else empty
};
/// Throws Error{InvalidInput} as parse_project does; a newer file's unknown members are no errors.
ProjectFile read_project(std::string_view text, const std::string& source);
/// The project as a document of the original's version with the original's unknown members; those
/// of a plan follow the plan's name.
std::string project_document(const Project&, const std::string& original);
/// The project with that setting of a plan at that value; the key's place in the list is kept.
Project with_setting(Project, int plan, std::string_view key, std::string_view value);
/// What is noted of the pair, in either order; "" for nothing.
std::string note_on(const Project&, std::string_view a, std::string_view b);
/// The project with that note of the pair; an empty one takes it away.
Project with_note(Project, std::string_view a, std::string_view b, std::string_view text);
/// Whether both give the same results: all but the marks is the same.
bool same_but_marks(const Project&, const Project&);
/// The value that the plan's own settings give the key, or "".
std::string own_setting(const ProjectPlan&, std::string_view key);

}  // namespace trainyard

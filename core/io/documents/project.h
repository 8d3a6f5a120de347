// A Project is what the window saves in a file: which model on which cluster, and the plans tried
// for it, in the terms of the command line. Results are not saved, because they follow from these.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"

namespace trainyard {

template <class T>
class Fields;

/// A ProjectMark is a place in a plan's run that the user wants to find again: a moment where both
/// ends are equal, else a range. Times are in nanoseconds from the start of the run, 0 <= from <=
/// to.
struct ProjectMark {
  std::int64_t from = 0, to = 0;
  std::string name;  // may be empty
  friend bool operator==(const ProjectMark&, const ProjectMark&) = default;
};

struct ProjectPlan {
  std::string name;                   // "A": its name in the window's list
  std::string file;                   // the value of --plan; empty: a plan of settings alone
  std::vector<std::string> settings;  // values of --set, "tp=8", each key at most once
  std::vector<ProjectMark> marks{};
  friend bool operator==(const ProjectPlan&, const ProjectPlan&) = default;
};

/// A ComparisonNote is what the user wrote about two results side by side.
struct ComparisonNote {
  std::string a, b;  // names of the results: "A", "published:ID", "run:7"
  std::string text;
  friend bool operator==(const ComparisonNote&, const ComparisonNote&) = default;
};

struct Project {
  /// The values of --model and --cluster, or a whole document on one line where the project
  /// contains its own (core/io/json/inline_document.h); empty: not chosen yet.
  std::string model, cluster;
  /// The prices that the user measured and accepted, as a whole document on one line
  /// (core/io/documents/measured_prices.h); empty: the workbench's own prices.
  std::string calibration;
  std::vector<ProjectPlan> plans;
  std::vector<ComparisonNote> notes;   // no text is empty, and there is at most one note per pair
  int current = 0;                     // index into plans; 0 where there are no plans
  std::string perspective = "design";  // one of kPerspectiveNames
  std::string tab;                     // tab of that perspective; empty: its first tab
  bool automatic = true;               // whether to simulate after each change
  friend bool operator==(const Project&, const Project&) = default;
};

inline constexpr std::array<std::string_view, 5> kPerspectiveNames = {
    "design", "analyse", "compare", "calibrate", "learn"};
/// Returns where a perspective that no longer exists is shown now: "planner" is the tab "plans" of
/// "analyse", "published" that of "calibrate". Other names are returned as they are, with no tab.
struct ShownPart {
  std::string perspective, tab;
};
ShownPart shown_part(std::string_view name);

/// Returns the project as a trainyard/project document; equal projects give equal bytes.
std::string project_document(const Project&);
/// Throws Error{InvalidInput} naming the field, what was expected and what was found.
Project parse_project(std::string_view text, const std::string& source);
/// Return the members of a project document and of a plan in it (core/io/json/fields.h).
const Fields<Project>& project_fields();
const Fields<ProjectPlan>& project_plan_fields();

/// A ProjectFile is a project file as it was found. The file of a newer Trainyard is read as far as
/// it is understood and its text is kept, so that saving under another name loses nothing.
struct ProjectFile {
  Project project;
  int version = 0;     // version of the file
  bool newer = false;  // the file is newer than what is written here and must not be overwritten
  std::vector<std::string> unknown;  // members that were not understood: "#/shapes",
                                     // "#/plans/0/colour"
  std::string original;              // the file's text if newer, else empty
};
/// Throws Error{InvalidInput} as parse_project() does; unknown members of a newer file are no
/// errors.
ProjectFile read_project(std::string_view text, const std::string& source);
/// Returns the project as a document of the original's version with the original's unknown members;
/// those of a plan are matched by the plan's name.
std::string project_document(const Project&, const std::string& original);
/// Returns the project with that setting of a plan at that value; the key keeps its place in the
/// list.
Project with_setting(Project, int plan, std::string_view key, std::string_view value);
/// Returns the note on the pair, in either order; "" where there is none.
std::string note_on(const Project&, std::string_view a, std::string_view b);
/// Returns the project with that note on the pair; an empty text removes the note.
Project with_note(Project, std::string_view a, std::string_view b, std::string_view text);
/// Returns whether both give the same results: everything but the marks is equal.
bool same_but_marks(const Project&, const Project&);
/// Returns the value that the plan's own settings give the key, or "".
std::string own_setting(const ProjectPlan&, std::string_view key);

}  // namespace trainyard

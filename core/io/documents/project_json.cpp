#include <algorithm>

#include "core/io/documents/cluster_json.h"
#include "core/io/documents/measured_prices.h"
#include "core/io/documents/model_json.h"
#include "core/io/documents/project.h"
#include "core/io/json/fields.h"
#include "core/io/json/inline_document.h"

namespace trainyard {
namespace {

constexpr const char* kSchema = "trainyard/project";
constexpr std::size_t kMostPlans = 1000;
constexpr std::int64_t kLastInstant = std::int64_t{1} << 53;  // whole numbers up to this are exact
                                                              // in JSON

Fields<ProjectMark> mark_fields() {
  return {{"from_ns", &ProjectMark::from, whole(0, kLastInstant)},
          {"to_ns", &ProjectMark::to,
           [](ProjectMark& mark, const JsonCursor& at) {
             mark.to = at.integer(mark.from, kLastInstant);
           }},
          {"name", &ProjectMark::name, kWhereSet}};
}

Fields<ComparisonNote> note_fields() {
  return {{"a", &ComparisonNote::a}, {"b", &ComparisonNote::b}, {"text", &ComparisonNote::text}};
}

// Returns the names of perspectives, including former ones that are tabs now.
std::vector<std::string> perspective_names() {
  std::vector<std::string> names(kPerspectiveNames.begin(), kPerspectiveNames.end());
  names.insert(names.end(), {"published", "planner"});
  return names;
}

// A document that the project contains is an object in its file; a name or path is a text.
Json word_json(const std::string& word) {
  return is_inline_document(word) ? parse_json(word, "project") : Json(word);
}

// A document is checked and kept in its canonical form, so that equal documents are equal words.
std::string model_word(const JsonCursor& cursor) {
  if (!cursor.value().as_object()) return cursor.text();
  return inline_document(model_to_json(model_from_json(cursor.value(), cursor.place().text)));
}

std::string cluster_word(const JsonCursor& cursor) {
  if (!cursor.value().as_object()) return cursor.text();
  return inline_document(
      to_json(read_cluster(write_json_line(cursor.value()), cursor.place().text)));
}

// Accepted prices are kept whole, because a file beside the project might change later.
std::string calibration_word(const JsonCursor& cursor) {
  if (!cursor.value().as_object()) cursor.expected("a calibration or a profile as an object");
  return measured_prices_word(
      read_measured_prices(write_json_line(cursor.value()), cursor.place().text));
}

Form<std::string> word_form(std::string (*read)(const JsonCursor&)) {
  return {one_of_schema({text().schema, type_schema("object")}), word_json, read};
}

void read_current(Project& project, const JsonCursor& at) {
  const auto plans = static_cast<std::int64_t>(std::max<std::size_t>(project.plans.size(), 1));
  project.current = static_cast<int>(at.integer(0, plans - 1));
}

void read_perspective(Project& project, const JsonCursor& at) {
  const ShownPart shown = shown_part(at.one_of(perspective_names()));
  project.perspective = shown.perspective;
  project.tab = shown.tab;
}

}  // namespace

const Fields<ProjectPlan>& project_plan_fields() {
  static const Fields<ProjectPlan> fields = {
      {"name", &ProjectPlan::name},
      {"file", &ProjectPlan::file, kWhereSet},
      {"settings", &ProjectPlan::settings, kDefaulted},
      {"marks", &ProjectPlan::marks, list_of(object(mark_fields())), kWhereSet}};
  return fields;
}

const Fields<Project>& project_fields() {
  static const Fields<Project> fields = document_fields<Project>(
      kSchema,
      {{"model", &Project::model, word_form(model_word), kDefaulted},
       {"cluster", &Project::cluster, word_form(cluster_word), kDefaulted},
       {"calibration", &Project::calibration, word_form(calibration_word), kWhereSet},
       {"plans", &Project::plans, list_of(object(project_plan_fields()), kMostPlans, "plans"),
        kDefaulted},
       {"notes", &Project::notes, list_of(object(note_fields()), kMostPlans, "notes"), kWhereSet},
       {"current", &Project::current, kDefaulted, read_current},
       {"perspective", &Project::perspective, kDefaulted, read_perspective},
       {"tab", &Project::tab, kWhereSet},
       {"automatic", &Project::automatic, kDefaulted}});
  return fields;
}

std::string project_document(const Project& project) {
  return write_json(project_fields().write(project));
}

Project parse_project(std::string_view text, const std::string& source) {
  return read_fields(project_fields(), text, kSchema, source);
}

}  // namespace trainyard

#include <algorithm>

#include "core/io/documents/cluster_json.h"
#include "core/io/documents/measured_prices.h"
#include "core/io/documents/model_json.h"
#include "core/io/documents/project.h"
#include "core/io/json/inline_document.h"
#include "core/io/json/json.h"
#include "core/io/json/schema.h"

namespace trainyard {
namespace {

constexpr const char* kSchema = "trainyard/project";
constexpr std::size_t kMostPlans = 1000;
constexpr std::int64_t kLastInstant = std::int64_t{1} << 53;  // whole numbers up to this are exact
                                                              // in JSON
const std::vector<std::string> kProjectKeys = {"schema", "model",    "cluster", "calibration",
                                               "plans",  "notes",    "current", "perspective",
                                               "tab",    "automatic"};
const std::vector<std::string> kPlanKeys = {"name", "file", "settings", "marks"};

Json texts(const std::vector<std::string>& words) {
  Json list = Json::list();
  for (const std::string& word : words) list.push(word);
  return list;
}

Json json_of(const ProjectMark& mark) {
  Json object = Json::object();
  object.set("from_ns", mark.from);
  object.set("to_ns", mark.to);
  if (!mark.name.empty()) object.set("name", mark.name);
  return object;
}

Json json_of(const ProjectPlan& plan) {
  Json object = Json::object();
  object.set("name", plan.name);
  if (!plan.file.empty()) object.set("file", plan.file);
  object.set("settings", texts(plan.settings));
  if (plan.marks.empty()) return object;
  Json marks = Json::list();
  for (const ProjectMark& mark : plan.marks) marks.push(json_of(mark));
  object.set("marks", std::move(marks));
  return object;
}

ProjectMark mark_of(const JsonCursor& cursor) {
  cursor.expect_keys({"from_ns", "to_ns", "name"});
  ProjectMark mark;
  mark.from = cursor.at("from_ns").integer(0, kLastInstant);
  mark.to = cursor.at("to_ns").integer(mark.from, kLastInstant);
  if (const auto name = cursor.find("name")) mark.name = name->text();
  return mark;
}

ProjectPlan plan_of(const JsonCursor& cursor) {
  cursor.expect_keys(kPlanKeys);
  ProjectPlan plan;
  plan.name = cursor.at("name").text();
  if (const auto file = cursor.find("file")) plan.file = file->text();
  if (const auto settings = cursor.find("settings"))
    for (const JsonCursor& word : settings->items()) plan.settings.push_back(word.text());
  if (const auto marks = cursor.find("marks"))
    for (const JsonCursor& mark : marks->items()) plan.marks.push_back(mark_of(mark));
  return plan;
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

Json json_of(const ComparisonNote& note) {
  Json object = Json::object();
  object.set("a", note.a);
  object.set("b", note.b);
  object.set("text", note.text);
  return object;
}

ComparisonNote note_of(const JsonCursor& cursor) {
  cursor.expect_keys({"a", "b", "text"});
  return {cursor.at("a").text(), cursor.at("b").text(), cursor.at("text").text()};
}

}  // namespace

const std::vector<std::string>& project_keys() { return kProjectKeys; }
const std::vector<std::string>& project_plan_keys() { return kPlanKeys; }

std::string project_document(const Project& project) {
  Json plans = Json::list();
  for (const ProjectPlan& plan : project.plans) plans.push(json_of(plan));
  Json document = Json::object();
  document.set("schema", schema_name(schema(kSchema)));
  document.set("model", word_json(project.model));
  document.set("cluster", word_json(project.cluster));
  if (!project.calibration.empty())
    document.set("calibration", parse_json(project.calibration, "project"));
  document.set("plans", std::move(plans));
  if (!project.notes.empty()) {
    Json notes = Json::list();
    for (const ComparisonNote& note : project.notes) notes.push(json_of(note));
    document.set("notes", std::move(notes));
  }
  document.set("current", project.current);
  document.set("perspective", project.perspective);
  if (!project.tab.empty()) document.set("tab", project.tab);
  document.set("automatic", project.automatic);
  return write_json(document);
}

Project parse_project(std::string_view text, const std::string& source) {
  const Json document = read_document(text, kSchema, source);
  const JsonCursor root(document, source);
  root.expect_keys(kProjectKeys);
  Project project;
  if (const auto model = root.find("model")) project.model = model_word(*model);
  if (const auto cluster = root.find("cluster")) project.cluster = cluster_word(*cluster);
  if (const auto calibration = root.find("calibration"))
    project.calibration = calibration_word(*calibration);
  if (const auto plans = root.find("plans")) {
    const std::vector<JsonCursor> items = plans->items();
    if (items.size() > kMostPlans) plans->expected("at most 1000 plans");
    for (const JsonCursor& item : items) project.plans.push_back(plan_of(item));
  }
  if (const auto notes = root.find("notes")) {
    const std::vector<JsonCursor> items = notes->items();
    if (items.size() > kMostPlans) notes->expected("at most 1000 notes");
    for (const JsonCursor& item : items) project.notes.push_back(note_of(item));
  }
  const auto last = static_cast<std::int64_t>(std::max<std::size_t>(project.plans.size(), 1)) - 1;
  if (const auto current = root.find("current"))
    project.current = static_cast<int>(current->integer(0, last));
  if (const auto perspective = root.find("perspective")) {
    const ShownPart shown = shown_part(perspective->one_of(perspective_names()));
    project.perspective = shown.perspective;
    project.tab = shown.tab;
  }
  if (const auto tab = root.find("tab")) project.tab = tab->text();
  if (const auto automatic = root.find("automatic")) project.automatic = automatic->boolean();
  return project;
}

}  // namespace trainyard

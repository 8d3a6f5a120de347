// compare: two results or runs beside each other, in time by cause and bytes by category, in parts
// that sum to the difference.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "app/cli/scenario_words.h"
#include "app/workspace/fixes.h"
#include "app/workspace/published.h"
#include "app/workspace/workspace.h"
#include "core/base/error.h"
#include "core/base/units_text.h"
#include "core/io/files.h"
#include "core/io/json.h"
#include "core/io/result_json.h"
#include "core/io/schema.h"
#include "visualizers/png.h"
#include "visualizers/render.h"
#include "visualizers/svg.h"
#include "visualizers/waterfall_view.h"

namespace trainyard {
namespace {

// A step or a device's memory taken apart.
struct Parts {
  std::vector<std::pair<std::string, double>> list;  // as the document has them
  double sum() const {
    double all = 0;
    for (const auto& part : list) all += part.second;
    return all;
  }
  double of(const std::string& name) const {
    const auto found = std::find_if(list.begin(), list.end(),
                                    [&](const auto& part) { return part.first == name; });
    return found == list.end() ? 0 : found->second;
  }
};

struct Side {
  std::string name;                       // "simulate: op grain of gpt-tiny on cpu:2"
  Parts seconds;                          // of the critical device
  Parts bytes;                            // of the device with the highest peak, at it
  std::optional<Scenario> scenario = {};  // of a plan; a document has none
};

Parts parts_of(const JsonCursor& object) {
  Parts parts;
  for (const std::string& key : object.keys()) parts.list.push_back({key, object.at(key).number()});
  return parts;
}

Parts worst_device(const JsonCursor& memory) {
  Parts worst;
  for (const JsonCursor& stage : memory.at("stages").items()) {
    Parts here = parts_of(stage.at("categories"));
    if (here.sum() > worst.sum() || worst.list.empty()) worst = std::move(here);
  }
  return worst;
}

Side side_of(const Json& raw, const std::string& path) {
  const bool run = has_schema(raw, "trainyard/run");
  const Json json = upgraded(raw, schema(run ? "trainyard/run" : "trainyard/result"), path);
  const JsonCursor root(json, path);
  const JsonCursor about = run ? root.at("predicted") : root;
  Side side;
  side.name =
      fmt::format("{} {} on {}", run ? "run of" : about.at("fidelity").text() + " of",
                  about.at("model").at("name").text(), about.at("cluster").at("name").text());
  if (!root.has("breakdown_seconds"))
    root.refuse(
        "expected a key \"breakdown_seconds\", which an estimate does not have; simulate "
        "writes one");
  side.seconds = parts_of(root.at("breakdown_seconds"));
  side.bytes = worst_device(root.at("memory"));
  return side;
}

// A document; or settings of a plan or a published row, which are simulated.
Side side_of(const std::string& word, const Words& words) {
  const bool row = published_id(word).has_value();
  if (!row && word.find('=') == std::string::npos)
    return side_of(parse_json(read_file(word), word), word);
  Scenario scenario = row ? open({word, word, word, {}})
                          : open({words.text("model"), words.text("cluster"), words.text("plan"),
                                  words.texts("set")});
  if (!row) apply_words(scenario.plan, word);
  throw_if_errors(check(scenario));
  const ExperimentPtr experiment =
      simulate(scenario, {.grain = natural_grain(scenario), .fixes = false});
  Side side = side_of(to_json(experiment->result), word);
  side.name += (row ? ", " : " with ") + word;
  side.scenario = std::move(scenario);
  return side;
}

std::vector<std::string> names_of(const Parts& a, const Parts& b) {
  std::vector<std::string> names;
  for (const Parts* parts : {&a, &b})
    for (const auto& [name, value] : parts->list)
      if ((a.of(name) != 0 || b.of(name) != 0) &&
          std::find(names.begin(), names.end(), name) == names.end())
        names.push_back(name);
  // What changed most first.
  std::stable_sort(names.begin(), names.end(), [&](const std::string& x, const std::string& y) {
    return std::abs(b.of(x) - a.of(x)) > std::abs(b.of(y) - a.of(y));
  });
  return names;
}

std::string time_text(double s) {
  return (s < 0 ? "-" : "") + readable(Duration{std::llround(std::abs(s) * 1e9)});
}
std::string bytes_text(double b) {
  return (b < 0 ? "-" : "") + readable(Bytes{std::llround(std::abs(b))});
}

std::string waterfall(const char* title, const Parts& a, const Parts& b,
                      std::string (*words)(double)) {
  std::string out =
      fmt::format("\n{:<20} {:>12} {:>12} {:>12} {:>9}\n", title, "A", "B", "difference", "of A");
  const double whole = std::max(a.sum(), 1e-30);
  const auto row = [&](std::string name, double x, double y) {
    std::replace(name.begin(), name.end(), '_', ' ');
    out += fmt::format("{:<20} {:>12} {:>12} {:>12} {:>7.1f} %\n", "  " + name, words(x), words(y),
                       (y > x ? "+" : "") + words(y - x), 100 * (y - x) / whole);
  };
  for (const std::string& name : names_of(a, b)) row(name, a.of(name), b.of(name));
  row("together", a.sum(), b.sum());
  return out;
}

std::string fields_text(const Difference& d) {
  std::size_t width = 14;
  for (const FieldDifference& f : d.fields)
    width = std::max({width, f.mine.size(), f.theirs.size()});
  std::string out = fmt::format(
      "\nfield by field, by the closed form, each on top of those above it\n  {:<20} {:>{}} {:>{}} "
      "{:>12} {:>12}\n",
      "", "A", width, "B", width, "step", "peak");
  const auto row = [&](const std::string& field, const std::string& a, const std::string& b,
                       Duration step, Bytes peak) {
    const double s = to_seconds(step), bytes = static_cast<double>(peak.value);
    out +=
        fmt::format("  {:<20} {:>{}} {:>{}} {:>12} {:>12}\n", field, a, width, b, width,
                    (s > 0 ? "+" : "") + time_text(s), (bytes > 0 ? "+" : "") + bytes_text(bytes));
  };
  for (const FieldDifference& f : d.fields) row(f.field, f.mine, f.theirs, f.step, f.peak);
  row("together", "", "", d.theirs.step - d.mine.step, d.theirs.peak - d.mine.peak);
  return out;
}

Json fields_json(const Difference& d) {
  Json list = Json::list();
  for (const FieldDifference& f : d.fields) {
    Json one = Json::object();
    one.set("field", f.field);
    one.set("a", f.mine);
    one.set("b", f.theirs);
    one.set("seconds", to_seconds(f.step));
    one.set("bytes", f.peak.value);
    list.push(std::move(one));
  }
  return list;
}

Json waterfall_json(const Parts& a, const Parts& b) {
  Json list = Json::list();
  for (const std::string& name : names_of(a, b)) {
    Json one = Json::object();
    one.set("name", name);
    one.set("a", a.of(name));
    one.set("b", b.of(name));
    one.set("difference", b.of(name) - a.of(name));
    list.push(std::move(one));
  }
  Json json = Json::object();
  json.set("a", a.sum());
  json.set("b", b.sum());
  json.set("parts", std::move(list));
  return json;
}

// In whole nanoseconds or bytes, so that the bars sum to the difference of their totals.
WaterfallModel waterfall_of(const char* title, WaterfallUnit unit, const Parts& a, const Parts& b) {
  WaterfallModel model{unit, title, "A", "B", {}};
  const double size = unit == WaterfallUnit::Time ? 1e9 : 1;
  for (std::string name : names_of(a, b)) {
    const std::int64_t x = std::llround(a.of(name) * size), y = std::llround(b.of(name) * size);
    std::replace(name.begin(), name.end(), '_', ' ');
    model.parts.push_back({std::move(name), "", x, y});
  }
  return model;
}

void write_pictures(const Side& a, const Side& b, const Words& words, Streams& streams) {
  if (!words.has("svg") && !words.has("png")) return;
  const std::vector<WaterfallModel> both = {
      waterfall_of("Step by cause", WaterfallUnit::Time, a.seconds, b.seconds),
      waterfall_of("Worst device's peak", WaterfallUnit::Memory, a.bytes, b.bytes)};
  const Drawing drawing = waterfall_picture(both, waterfall_size(both));
  const auto write = [&](const std::string& path, const std::string& bytes) {
    write_file(path, bytes);
    if (!words.has("quiet")) streams.err << "wrote " << path << "\n";
  };
  if (words.has("svg")) write(words.text("svg"), to_svg(drawing, Theme::Dark));
  if (words.has("png")) write(words.text("png"), to_png(render(drawing, 2, Theme::Dark)));
}

int run_compare(const Words& words, Streams& streams) {
  const std::vector<std::string> paths = words.texts("");
  const Side a = side_of(paths[0], words), b = side_of(paths[1], words);
  std::optional<Difference> fields;
  if (a.scenario && b.scenario) fields = difference(*a.scenario, *b.scenario, estimated_cost);
  write_pictures(a, b, words, streams);
  if (words.has("json")) {
    Json json = Json::object();
    json.set("schema", schema_name(schema("trainyard/comparison")));
    json.set("a", a.name);
    json.set("b", b.name);
    json.set("seconds", waterfall_json(a.seconds, b.seconds));
    json.set("bytes", waterfall_json(a.bytes, b.bytes));
    if (fields) json.set("fields", fields_json(*fields));
    deliver(write_json(json), words, streams);
    return kDone;
  }
  deliver(fmt::format("A  {}\nB  {}\n", a.name, b.name) +
              waterfall("step by cause", a.seconds, b.seconds, time_text) +
              waterfall("worst device's peak", a.bytes, b.bytes, bytes_text) +
              (fields ? fields_text(*fields) : ""),
          words, streams);
  return kDone;
}

}  // namespace

Verb compare_verb() {
  return {.name = "compare",
          .summary =
              "Two plans, results or runs: time and bytes by cause, summing to the "
              "difference.",
          .positional = "A B",
          .positional_doc =
              "each settings of a plan, as \"tp=2 zero=1\", published:ID, or a trainyard/result or "
              "trainyard/run document",
          .positional_required = true,
          .positionals = 2,
          .flags = with_scenario_flags(
              {{"json", "", "one trainyard/comparison@1 document and nothing else"},
               {"svg", "FILE", "draws both as waterfalls there, beside the text"},
               {"png", "FILE", "the same as pixels, two a logical one"}}),
          .examples = {"compare \"pp=2\" \"dp=2 zero=1\" --model gpt-tiny --cluster cpu:2 --set "
                       "global-batch=8"},
          .run = run_compare};
}

}  // namespace trainyard

#include "app/workspace/comparison/comparison_files.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/units_text.h"
#include "visualizers/compare/comparison_view.h"
#include "visualizers/compare/outperforming_view.h"
#include "visualizers/drawing/svg.h"
#include "visualizers/viewmodel/format.h"

namespace trainyard {
namespace {

constexpr float kWidth = 1400, kCauses = 440;

bool has_timelines(const ResultComparison& c) { return c.a.experiment && c.b.experiment; }

std::string csv_cell(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char character : text) {
    if (character == '"') quoted += '"';
    quoted += character;
  }
  return quoted + "\"";
}

std::string figure_text(std::optional<double> value) { return value ? to_text(*value) : ""; }

const char* unit_of(FigureUnit unit) {
  switch (unit) {
    case FigureUnit::Seconds:
      return "s";
    case FigureUnit::Share:
      return "1";
    case FigureUnit::Memory:
      return "B";
    case FigureUnit::PerSecond:
      return "1/s";
    case FigureUnit::Energy:
      return "J";
    case FigureUnit::Dollars:
      return "USD";
    case FigureUnit::Kilograms:
      return "kg";
  }
  return "";
}

class Rows {
 public:
  void add(const char* part, const std::string& name, const char* unit, std::optional<double> a,
           std::optional<double> b) {
    const std::optional<double> change = a && b ? std::optional(*b - *a) : std::nullopt;
    text_ += fmt::format("{},{},{},{},{},{}\n", part, csv_cell(name), unit, figure_text(a),
                         figure_text(b), figure_text(change));
  }
  void add_words(const char* part, const std::string& name, const std::string& a,
                 const std::string& b) {
    text_ += fmt::format("{},{},,{},{},\n", part, csv_cell(name), csv_cell(a), csv_cell(b));
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_ = "part,name,unit,a,b,difference\n";
};

void add_parts(Rows& rows, const char* part, const char* unit, const ComparedParts& a,
               const ComparedParts& b) {
  for (const std::string& name : part_names(a, b))
    rows.add(part, name, unit, a.of(name), b.of(name));
  rows.add(part, "together", unit, a.sum(), b.sum());
}

std::string escaped(const std::string& text) {
  std::string safe;
  for (const char c : text) {
    if (c == '&')
      safe += "&amp;";
    else if (c == '<')
      safe += "&lt;";
    else if (c == '>')
      safe += "&gt;";
    else if (c == '"')
      safe += "&quot;";
    else
      safe += c;
  }
  return safe;
}

std::string table_row(const std::vector<std::string>& cells, const char* tag) {
  std::string row = "<tr>";
  for (const std::string& cell : cells) row += fmt::format("<{0}>{1}</{0}>", tag, escaped(cell));
  return row + "</tr>\n";
}

std::string signed_text(WaterfallUnit unit, std::int64_t change) {
  const std::string text = unit == WaterfallUnit::Time ? format_step_time(Duration{change})
                                                       : format_bytes(Bytes{change});
  return change > 0 ? "+" + text : text;
}

std::string value_text(WaterfallUnit unit, std::int64_t value) {
  return unit == WaterfallUnit::Time ? format_step_time(Duration{value})
                                     : format_bytes(Bytes{value});
}

std::string parts_table(const WaterfallModel& w) {
  std::string html = "<h2>" + escaped(w.title) + "</h2>\n<table>\n" +
                     table_row({"", "A", "B", "difference"}, "th");
  for (const WaterfallPart& part : w.parts)
    html += table_row({part.name, value_text(w.unit, part.a), value_text(w.unit, part.b),
                       signed_text(w.unit, part.change())},
                      "td");
  return html +
         table_row({"together", value_text(w.unit, w.a()), value_text(w.unit, w.b()),
                    signed_text(w.unit, w.b() - w.a())},
                   "td") +
         "</table>\n";
}

std::string css_colour(Ink ink, Theme theme) { return hex(colour(ink, theme)); }

}  // namespace

Drawing comparison_picture(const ResultComparison& c) {
  const bool timelines = has_timelines(c);
  const float judged = outperforming_height(c.judged), top = kFigureCards + judged;
  float falls = std::max(waterfall_height(c.time), waterfall_height(c.memory)) + 8;
  if (!timelines) {
    Drawing drawing({kWidth * 0.75f, top + falls + 8});
    draw_figure_cards(drawing, {0, 0, drawing.size.width, kFigureCards}, figure_cards(c));
    draw_outperforming(drawing, {0, kFigureCards, drawing.size.width, judged}, c.judged);
    const float half = drawing.size.width / 2;
    draw_waterfall(drawing, {0, top + 8, half, falls}, c.time, {});
    draw_waterfall(drawing, {half, top + 8, half, falls}, c.memory, {});
    return drawing;
  }
  const ComparisonModel model =
      comparison_model(c.a.experiment, c.a.title, c.b.experiment, c.b.title);
  const float causes = waterfall_height(c.time) + 8, bytes = waterfall_height(c.memory) + 8,
              ranks = rank_deltas_height(c.ranks);
  const float height = std::max(comparison_height(model), causes + bytes + ranks + 8);
  Drawing drawing({kWidth, top + height});
  draw_figure_cards(drawing, {0, 0, kWidth, kFigureCards}, figure_cards(c));
  draw_outperforming(drawing, {0, kFigureCards, kWidth, judged}, c.judged);
  const float left = kWidth - kCauses;
  draw_comparison(drawing, {0, top, left, height}, model, {});
  line(drawing, {left + 0.5f, top}, {left + 0.5f, top + height}, {.ink = Ink::Border});
  draw_waterfall(drawing, {left, top, kCauses, causes}, c.time, {});
  draw_waterfall(drawing, {left, top + causes, kCauses, bytes}, c.memory, {});
  draw_rank_deltas(drawing, {left, top + causes + bytes, kCauses, ranks}, c.ranks, {});
  return drawing;
}

std::string comparison_csv(const ResultComparison& c) {
  Rows rows;
  rows.add_words("result", "name", c.a.name, c.b.name);
  for (const ComparedFigure& f : c.figures) rows.add("figure", f.key, unit_of(f.unit), f.a, f.b);
  for (const JudgedFigure& f : c.judged) {
    const char* unit = f.unit == "share" ? "1" : f.unit.c_str();
    for (std::size_t i = 0; i < std::max(f.scores.a.size(), f.scores.b.size()); ++i) {
      const auto at = [&](const std::vector<double>& side) {
        return i < side.size() ? std::optional(side[i]) : std::nullopt;
      };
      rows.add("run", f.key, unit, at(f.scores.a), at(f.scores.b));
    }
    rows.add("wins", f.key, "1", 1 - f.verdict.probability, f.verdict.probability);
  }
  add_parts(rows, "seconds", "s", c.a.seconds, c.b.seconds);
  add_parts(rows, "bytes", "B", c.a.bytes, c.b.bytes);
  for (const RankDelta& r : c.ranks.ranks) {
    rows.add("bubble", r.name, "s", to_seconds(r.idle_a), to_seconds(r.idle_b));
    rows.add("peak", r.name, "B", static_cast<double>(r.peak_a.value),
             static_cast<double>(r.peak_b.value));
  }
  if (c.fields)
    for (const FieldDifference& f : c.fields->fields)
      rows.add_words("field", f.field, f.mine, f.theirs);
  return rows.text();
}

std::string comparison_html(const ResultComparison& c, const std::string& note, Theme theme) {
  const auto ink = [&](Ink which) { return css_colour(which, theme); };
  std::string html = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<title>{} against {}</title>\n<style>\nbody {{ background: {}; color: {}; font: 14px "
      "Inter, \"DejaVu Sans\", sans-serif; margin: 24px auto; max-width: 1400px; }}\n"
      "h1 {{ font-size: 20px; }}\nh2 {{ font-size: 15px; }}\nsvg {{ width: 100%; height: auto; "
      "}}\ntable {{ border-collapse: collapse; font-variant-numeric: tabular-nums; }}\n"
      "th, td {{ border-bottom: 1px solid {}; padding: 4px 14px 4px 0; text-align: right; }}\n"
      "th:first-child, td:first-child {{ text-align: left; }}\n</style>\n</head>\n<body>\n",
      escaped(c.a.title), escaped(c.b.title), ink(Ink::Canvas), ink(Ink::Text), ink(Ink::Border));
  html += "<h1>" + escaped(c.headline) + "</h1>\n<p>A: " + escaped(c.a.name) +
          "<br>B: " + escaped(c.b.name) + "</p>\n<ul>\n";
  for (const std::string& reason : c.reasons) html += "<li>" + escaped(reason) + "</li>\n";
  html += "</ul>\n";
  if (!note.empty()) html += "<h2>Note</h2>\n<p>" + escaped(note) + "</p>\n";
  html += to_svg(comparison_picture(c), theme);
  html += "<h2>Figures</h2>\n<table>\n" + table_row({"", "A", "B", "difference"}, "th");
  for (const FigureCard& card : figure_cards(c))
    html += table_row({card.title, card.a, card.b, card.change}, "td");
  html += "</table>\n" + parts_table(c.time) + parts_table(c.memory);
  if (c.fields && !c.fields->fields.empty()) {
    html += "<h2>What differs, by the closed form, each on top of those above it</h2>\n<table>\n" +
            table_row({"", "A", "B", "step", "peak"}, "th");
    for (const FieldDifference& f : c.fields->fields)
      html +=
          table_row({f.field, f.mine, f.theirs, signed_text(WaterfallUnit::Time, f.step.count()),
                     signed_text(WaterfallUnit::Memory, f.peak.value)},
                    "td");
    html += "</table>\n";
  }
  return html + "</body>\n</html>\n";
}

}  // namespace trainyard

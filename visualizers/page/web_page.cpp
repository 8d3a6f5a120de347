#include "visualizers/page/web_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "visualizers/drawing/palette.h"
#include "visualizers/drawing/svg.h"

namespace trainyard {
namespace {

using Out = std::back_insert_iterator<std::string>;

std::string style(Theme theme) {
  const auto ink = [&](Ink which) { return hex(colour(which, theme)); };
  return fmt::format(
      "body {{ max-width: 1240px; margin: 2rem auto; padding: 0 1rem; background: {0}; color: {1}; "
      "font: 15px/1.5 Inter, 'DejaVu Sans', sans-serif; font-variant-numeric: tabular-nums }}\n"
      "h1 {{ font-size: 1.6rem; margin: 0 }} h2 {{ font-size: 1.15rem; margin: 2rem 0 .5rem }}\n"
      "p {{ margin: .3rem 0; max-width: 60rem }} p.lead {{ font-size: 1.15rem }}\n"
      "table {{ border-collapse: collapse }} th, td {{ padding: .15rem .8rem .15rem 0; text-align: "
      "left; vertical-align: top; border-bottom: 1px solid {2} }}\n"
      "th {{ color: {3}; font-weight: 500 }} .number {{ text-align: right }}\n"
      "pre {{ overflow-x: auto; padding: .6rem; border: 1px solid {2}; font: 13px/1.4 'JetBrains "
      "Mono', 'DejaVu Sans Mono', monospace }}\n"
      "svg {{ max-width: 100%; height: auto; border: 1px solid {2} }} summary {{ cursor: pointer; "
      "margin-top: 1rem; color: {3} }}\n"
      "@media print {{ body {{ margin: 0 }} section {{ break-inside: avoid }} }}\n",
      ink(Ink::Canvas), ink(Ink::Text), ink(Ink::Border), ink(Ink::Text2));
}

void write_table(std::string& out, const DataTable& table) {
  const auto class_of = [](const DataColumn& column) {
    return column.unit == DataUnit::Words ? "" : " class=\"number\"";
  };
  out += "<table>\n<tr>";
  for (const DataColumn& column : table.columns)
    fmt::format_to(Out(out), "<th{}>{}</th>", class_of(column), markup_text(column.name));
  out += "</tr>\n";
  const std::size_t shown = std::min(table.rows, kPageRows);
  for (std::size_t row = 0; row < shown; ++row) {
    out += "<tr>";
    for (std::size_t c = 0; c < table.columns.size(); ++c)
      fmt::format_to(Out(out), "<td{}>{}</td>", class_of(table.columns[c]),
                     markup_text(cell_text(table.columns[c], table.cell(row, c))));
    out += "</tr>\n";
  }
  out += "</table>\n";
  if (shown < table.rows)
    fmt::format_to(Out(out), "<p>{} rows more are left out here.</p>\n", table.rows - shown);
}

void write_section(std::string& out, const PageSection& section, Theme theme, std::size_t index) {
  out += section.folded ? "<details>\n<summary>" : "<section>\n<h2>";
  out += markup_text(section.title);
  out += section.folded ? "</summary>\n" : "</h2>\n";
  for (const std::string& sentence : section.sentences)
    fmt::format_to(Out(out), "<p>{}</p>\n", markup_text(sentence));
  // Ids are of a whole page, and two pictures may each have a first pattern.
  if (section.picture) out += to_svg(*section.picture, theme, fmt::format("s{}", index));
  if (!section.table.columns.empty()) write_table(out, section.table);
  if (!section.code.empty()) {
    out += "<pre>";
    for (const std::string& line : section.code) out += markup_text(line) + "\n";
    out += "</pre>\n";
  }
  out += section.folded ? "</details>\n" : "</section>\n";
}

}  // namespace

std::string to_html(const WebPage& page, Theme theme) {
  std::string out = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width\">\n<title>{0}</title>\n"
      "<style>\n{1}</style>\n</head>\n<body>\n<h1>{0}</h1>\n<p class=\"lead\">{2}</p>\n",
      markup_text(page.title), style(theme), markup_text(page.lead));
  for (std::size_t i = 0; i < page.sections.size(); ++i)
    write_section(out, page.sections[i], theme, i);
  return out + "</body>\n</html>\n";
}

}  // namespace trainyard

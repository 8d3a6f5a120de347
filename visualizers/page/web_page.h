// A page for a browser that needs nothing beside itself: sentences, tables and pictures in one
// file, to be sent to a colleague or kept with a decision.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "visualizers/chart/table.h"
#include "visualizers/drawing/drawing.h"

namespace trainyard {

/// A part of a page under a heading of its own, of which whatever is empty is left out.
struct PageSection {
  std::string title;
  std::vector<std::string> sentences;
  std::vector<std::string> code;  // lines to type, or a document: shown as they are
  DataTable table;                // none where it has no columns
  std::optional<Drawing> picture{};
  bool folded = false;  // shows its title only, until a reader opens it
};

struct WebPage {
  std::string title;
  std::string lead;  // the answer, in a sentence
  std::vector<PageSection> sections;
};

/// The rows of a table that a page shows; a sentence says how many more there are.
inline constexpr std::size_t kPageRows = 200;

/// Writes the page as HTML: the same bytes for the same page. It loads nothing and runs nothing.
/// Columns of numbers stand right; a table has at most kPageRows rows.
std::string to_html(const WebPage&, Theme);

}  // namespace trainyard

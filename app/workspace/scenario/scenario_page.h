// Answers about a plan as one page for a browser: the verdict, what it rests on, and the pictures
// with the rows behind them, for who was not there when the plan was chosen.
#pragma once

#include <string>
#include <vector>

#include "visualizers/page/web_page.h"
#include "visualizers/view_data.h"

namespace trainyard {

/// The views that a page has unless others are named, in order.
const std::vector<std::string>& usual_page_views();

/// Makes the page of an experiment with these views, of views(). Pictures have their usual size and
/// the rows behind them; the last two sections are the plan and the whole result as documents.
/// Throws Error{InvalidInput} as view() does.
WebPage scenario_page(const ViewData&, const std::vector<std::string>& views);

}  // namespace trainyard

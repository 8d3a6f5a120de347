// Pictures of embedding tables as tensor trains: what their numbers take and what a look-up
// computes by rank, how many look-ups a cache of hot rows serves, and the cores of each table.
#pragma once

#include <cstdint>
#include <optional>

#include "core/training/table_study.h"
#include "visualizers/chart/bars_view.h"
#include "visualizers/chart/curve_view.h"
#include "visualizers/chart/table.h"
#include "visualizers/drawing/view_state.h"

namespace trainyard {

enum class TablesPicture : std::uint8_t { Numbers, Work, Cache, Tables };

/// One picture of a study: its curve or its bars, and the rows behind it.
struct TablesChart {
  std::optional<CurveModel> curve;  // nothing where there are fewer than two points
  std::optional<BarsModel> bars;    // of TablesPicture::Tables, where a table has cores
  DataTable rows;
};
TablesChart tables_chart(const TableStudy&, TablesPicture);
/// Items: those of the curve or of the bars.
void draw_tables(Drawing&, const Rect& area, const TablesChart&, const ViewState&);
Hover describe_tables(const TablesChart&, Item);
/// Says for people who cannot see it what the chart shows.
std::string tables_words(const TablesChart&);

/// All four, in two rows.
Drawing tables_picture(const TableStudy&);

}  // namespace trainyard

// What all plots over time share: a gutter for names at the left, a ruler, and one range and one
// cursor through all.
#pragma once

#include <string>

#include "visualizers/drawing/view_state.h"
#include "visualizers/viewmodel/viewport.h"

namespace trainyard {

inline constexpr float kGutter = 132;
inline constexpr float kPlotMargin = 12;  // right of the plot
inline constexpr float kRuler = 22;
inline constexpr float kSectionBar = 26;  // over a part of the plots

/// The part of `area` that lies between gutter and margin.
Rect plot_of(const Rect& area);
/// The state's shown part of a run that ends at `end`, across plot_of(area).
Viewport viewport_of(const Rect& area, const ViewState&, Instant end);

/// The state in the time of a run, for plots whose axis counts from the start of `step` instead. It
/// is not scrolled, because such plots place their rows themselves.
ViewState state_in_run(const ViewState&, TimeRange step, Instant end);

/// The horizontal extent of [start, end), cut a little outside the plot so that far ends stay
/// representable.
struct Extent {
  float left = 0, right = 0;
  float width() const { return right - left; }
};
inline constexpr float kBeyondPlot = 8;  // px beyond the plot where extents are cut
float cut_x(const Viewport&, Instant);
Extent extent(const Viewport&, Instant start, Instant end);

/// Ticks at the bottom of `area` and their labels, except where the range's or the cursor's reading
/// will lie.
void draw_ruler(Drawing&, const Rect& area, const Viewport&, const ViewState&, Instant end);
/// A line at each major tick, across the height of `area`.
void draw_grid(Drawing&, const Rect& area, const Viewport&);
/// Marks, the range's tint and borders, and the cursor's line, across the height of `area`.
void draw_time_marks(Drawing&, const Rect& area, const Viewport&, const ViewState&);
/// Where a step is over before another one, draws a tint up to the end of the other one. A tag at
/// `tag_y` says how much sooner it is.
void draw_step_gap(Drawing&, const Rect& rows, const Viewport&, Instant end, Instant other,
                   float tag_y, const std::string& other_name);
/// Flags of the marks, the range's and the cursor's readings, over the ruler, in the unit of a run
/// that ends at `end`. Items: Other, tag mark_tag().
void draw_time_tags(Drawing&, const Rect& ruler, const Viewport&, const ViewState&, Instant end);

inline constexpr std::uint64_t kMarkTag = std::uint64_t{1} << 40;  // and above: marks
inline std::uint64_t mark_tag(std::size_t mark) { return kMarkTag | mark; }
/// What to say of a mark's item; an empty title for any other.
Hover describe_mark(const ViewState&, Item, Instant end);

/// An instant to a thousandth of the unit that a run of that length is told in: "0.531 s" in one
/// of 4.9 s.
std::string instant_text(Instant, Duration whole);

/// A line of text whose middle is at y.
void write(Drawing&, std::string, Point at, float size, Weight, Ink, Align = Align::Left);
/// A line of text that is cut where it is wider than `room`.
void write_within(Drawing&, std::string_view, Point at, float room, float size, Weight, Ink,
                  Align = Align::Left);
/// Frames what is selected, `gap` px outside of it.
void frame_selected(Drawing&, const Rect&, float gap);
/// Text in a bordered box of `height` whose left end is at `at.x` and whose middle is at `at.y`.
/// Returns the box.
Rect draw_tag(Drawing&, const std::string&, Point at, float height, Ink background, Ink ink);
float tag_width(const std::string&);

}  // namespace trainyard

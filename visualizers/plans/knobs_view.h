// Sensitivity strips: a row a knob, a dot for each value that it could have, on one axis of time.
// What does not fit is hollow, what is not the same training a square; a line through all rows is
// the plan as it is.
#pragma once

#include <string>
#include <vector>

#include "visualizers/drawing/view_state.h"

namespace trainyard {

struct KnobDot {
  std::string value;   // "16"
  std::string beside;  // what changes with it: "pp=2"; may be empty
  double change = 0;   // time of the same work against the plan's, less one
  Duration step{};
  Bytes reserved{}, margin{};  // of the fullest device; negative margin = over
  bool fits = true;
  std::string maths;  // why its training is another; empty = it is the same
};

struct KnobRow {
  std::string knob, doc, now;
  std::vector<KnobDot> dots;
  std::vector<std::string> refused;  // "16: tp=16 does not divide ...": values that are not legal
};

struct KnobsModel {
  std::string title;  // "llama-3-70b on h100-sxm:64"
  Duration step{};    // as it is
  Bytes reserved{}, capacity{};
  std::vector<KnobRow> rows;  // in the order in which they are drawn
};

/// The item of a dot: kind Dot, tag row * kKnobDots + its index.
inline constexpr std::uint64_t kKnobDots = 4096;

/// The axis is the logarithm of time, from half to twice the plan's; what is beyond stands at its
/// ends. A
/// selected dot is ringed; a selected knob (Item::Legend, tag its row) stands out.
void draw_knobs(Drawing&, const Rect& area, const KnobsModel&, const ViewState&);
Hover describe_knobs(const KnobsModel&, Item);
/// At which all rows have room.
Size knobs_size(const KnobsModel&);
Drawing knobs_picture(const KnobsModel&);

}  // namespace trainyard

// Goodput: what failures and saves take from a training over the interval between saves, with where
// Young, Daly and the exact expression put it, and drawn weeks with the work that failures took
// back.
#pragma once

#include <optional>
#include <string>

#include "core/reliability/goodput.h"
#include "visualizers/chart/table.h"
#include "visualizers/view.h"
#include "visualizers/view_data.h"

namespace trainyard {

inline constexpr Size kGoodputSize{1082, 660};

/// Items: Dot, tag a GoodputMark or kGoodputPoints + the index of a point of the curve; Lane, tag a
/// week; Cell, tag a lever.
enum class GoodputMark : std::uint8_t { Chosen, Young, Daly, Best };
inline constexpr std::uint64_t kGoodputPoints = 16;

void draw_goodput(Drawing&, const Rect& area, const GoodputAnswer&, Item selected);
/// A picture of kGoodputSize, as for a file.
Drawing goodput_picture(const GoodputAnswer&);
Hover describe_goodput(const GoodputAnswer&, Item);
/// The marked intervals, then the curve, then the levers.
DataTable goodput_table(const GoodputAnswer&);

/// An answer, or why there is none.
struct AskedGoodput {
  std::optional<GoodputAnswer> answer;
  std::string refusal, place;  // place: of the field of the question that is refused
};
AskedGoodput ask_goodput(const GoodputSubject&, const GoodputQuestion&);
/// The answer, or the sentence in its place.
void draw_asked(Drawing&, const Rect& area, const AskedGoodput&, Item selected);

template <>
GoodputSubject make_model(const ViewData&);
/// The usual question.
template <>
AskedGoodput make_model(const ViewData&);

extern const View kGoodputView;

}  // namespace trainyard

// A profile that corrects itself: the time of each annotation by level as it was recorded and as it
// is without the records, what the records of each level took, and how busy a device is beside how
// busy it seems by sampling.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/timeline/span_profile.h"
#include "visualizers/chart/table.h"
#include "visualizers/drawing/view_state.h"

namespace trainyard {

/// Items: Other, tag panel * 4096 + row * 64 + part; the panels are times, records and use.
void draw_profile(Drawing&, const Rect& area, const ProfileStudy&, const ViewState& = {});
Hover describe_profile(const ProfileStudy&, Item);
/// The picture at the size that its rows need.
Drawing profile_picture(const ProfileStudy&);
/// The rows of times: raw and corrected by annotation, level and whether a kernel runs.
DataTable profile_table(const ProfileStudy&);
/// Returns one sentence for each conclusion.
std::vector<std::string> profile_sentences(const ProfileStudy&);
/// Returns "op", or "outside" for what is in no span.
std::string_view profile_level_words(const std::optional<SpanLevel>&);

}  // namespace trainyard

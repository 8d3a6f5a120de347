// The lane of rules under a timeline: a marker where each rule that fired shows.
#pragma once

#include "visualizers/timeline/timeline_layout.h"

namespace trainyard {

inline constexpr std::uint64_t kRuleTag = std::uint64_t{1} << 41;  // and above: rules that fired

/// Nothing where no rule has fired at a place. It lies beneath the last lane that is shown. Items:
/// Other, tag kRuleTag and the index of the result's rules.
void draw_rule_lane(Drawing&, const TimelineLayout&, const TimelineModel&);
/// Describes such an item; the title is empty for any other.
Hover describe_rule(const TimelineModel&, Item);

}  // namespace trainyard

#include "visualizers/timeline/rule_lane.h"

#include "visualizers/drawing/drawing_parts.h"
#include "visualizers/viewmodel/format.h"

namespace trainyard {
namespace {

constexpr float kMarkerHalf = 4;  // px from the middle of a marker to its corner

}  // namespace

void draw_rule_lane(Drawing& drawing, const TimelineLayout& layout, const TimelineModel& model) {
  const std::vector<FiredRule>& rules = model.experiment->result.rules;
  const float height = rule_lane_height(model);
  if (height == 0) return;
  const Rect& area = layout.lanes;
  const float top = area.y + lanes_shown(layout, model.ranks.size());
  const Rect lane = {area.x, top, area.width, height};
  const float middle = top + height / 2;
  fill(drawing, lane, {.ink = Ink::Canvas});
  line(drawing, {lane.x, top + 0.5f}, {lane.right(), top + 0.5f}, {.ink = Ink::Grid});
  write(drawing, "Rules", {lane.x + 10, middle}, 11, Weight::Medium, Ink::Text2);
  const ClipScope plot(drawing, {layout.shown.plot.x - kMarkerHalf, top,
                                 layout.shown.plot.width + 2 * kMarkerHalf, height});
  for (std::size_t i = 0; i < rules.size(); ++i) {
    if (!rules[i].at) continue;
    const float x = cut_x(layout.shown, *rules[i].at);
    polygon(drawing,
            {{x - kMarkerHalf, middle},
             {x, middle - kMarkerHalf},
             {x + kMarkerHalf, middle},
             {x, middle + kMarkerHalf}},
            {.ink = Ink::Warn, .item = {ItemKind::Other, kRuleTag | i}});
  }
}

Hover describe_rule(const TimelineModel& model, Item item) {
  const std::vector<FiredRule>& rules = model.experiment->result.rules;
  const std::uint64_t index = item.tag & ~kRuleTag;
  if (item.kind != ItemKind::Other || (item.tag & kRuleTag) == 0 || index >= rules.size())
    return {};
  const FiredRule& fired = rules[index];
  return {fired.rule, fired.where, "", {fired.sentence, "try " + fired.advice}};
}

}  // namespace trainyard

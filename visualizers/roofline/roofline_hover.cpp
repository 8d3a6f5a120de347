#include <algorithm>
#include <cstdio>
#include <string>

#include "visualizers/roofline/roofline_view.h"
#include "visualizers/viewmodel/format.h"

namespace trainyard {
namespace {

Hover describe_point(const Roofline& roofline, const RooflinePoint& point) {
  const RooflineBound limit = bound(roofline, point);
  Hover hover{
      point.name, std::string(to_string(point.math)), format_throughput(point.achieved()), {}};
  char gap[32];
  std::snprintf(gap, sizeof gap, "%.2f", limit.gap);
  hover.lines.push_back("intensity " + format_intensity(point.intensity()) + " FLOP/B");
  hover.lines.push_back("bound by " + limit.roof + ", " + format_throughput(limit.attainable) +
                        " attainable, gap " + gap + " \u00D7");
  hover.lines.push_back(
      format_percent(point.share) + " of busy time, " + format_count(point.calls) + " calls, " +
      format_duration(point.time / std::max<std::int64_t>(1, point.calls)) + " each");
  return hover;
}

Hover describe_link(const Roofline& roofline, const LinkPoint& link) {
  const SlopeRoof& roof = roofline.links[std::min(link.level, roofline.links.size() - 1)];
  Hover hover{link.name + " communication",
              "over " + roof.name,
              format_bytes(link.bytes) + " per step",
              {}};
  hover.lines.push_back(format_intensity(link.intensity()) + " FLOP of computing per byte sent");
  const double needed = roofline.busy.value / roof.effective.value;
  const bool ahead = link.intensity() >= needed;
  hover.lines.push_back(std::string(ahead ? "the link keeps up" : "the link is the limit") +
                        ": it would be even at " + format_intensity(needed) + " FLOP/B");
  hover.lines.push_back(format_duration(link.time) + " per step, alone on the link");
  return hover;
}

}  // namespace

Hover describe_roofline(const Roofline& roofline, Item item) {
  if (item.kind != ItemKind::Dot) return {};
  for (const RooflinePoint& point : roofline.points)
    if (item.tag == point_tag(point)) return describe_point(roofline, point);
  for (const LinkPoint& link : roofline.traffic)
    if (item.tag == traffic_tag(link)) return describe_link(roofline, link);
  return {};
}

}  // namespace trainyard

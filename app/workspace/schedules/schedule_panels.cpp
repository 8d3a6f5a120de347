#include "app/workspace/schedules/schedule_panels.h"

#include <algorithm>
#include <utility>

#include "visualizers/drawing/in_parallel.h"

namespace trainyard {

std::string shown_name(const ComparedSchedule& s) {
  return s.own_order ? s.name + ", own order" : s.name;
}

SchedulePanel panel_of(const ComparedSchedule& s) {
  SchedulePanel panel = s.experiment == nullptr ? SchedulePanel{} : schedule_panel(s.experiment);
  panel.name = shown_name(s);
  panel.changed = s.changed;
  panel.why_not = s.why_not;
  panel.tokens = s.tokens;
  if (s.own_order) return panel;
  panel.settings.push_back("schedule=" + s.name);
  for (std::size_t from = 0; from < s.changed.size();) {
    const std::size_t end = std::min(s.changed.find(' ', from), s.changed.size());
    panel.settings.push_back(s.changed.substr(from, end - from));
    from = end + 1;
  }
  return panel;
}

std::vector<SchedulePanel> ranked_panels(const ScheduleComparison& comparison,
                                         std::string_view own) {
  std::vector<const ComparedSchedule*> order;
  for (const ComparedSchedule& s : comparison.schedules) order.push_back(&s);
  const auto rank = [&](const ComparedSchedule* s) {
    const int kind = s->own_order      ? 0
                     : s->name == own  ? 1
                     : !s->legal       ? 5
                     : !s->fits        ? 4
                     : s->asynchronous ? 3
                                       : 2;
    return std::pair(kind, kind == 2 ? s->step.count() : 0);
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](const auto* a, const auto* b) { return rank(a) < rank(b); });
  std::vector<SchedulePanel> panels(order.size());
  in_parallel(order.size(), [&](std::size_t i) { panels[i] = panel_of(*order[i]); });
  return panels;
}

}  // namespace trainyard

#include "app/cli/pictures/plan_picture.h"

#include "app/cli/pictures/picture_files.h"
#include "app/workspace/plans/plan_points.h"
#include "visualizers/plans/pareto_view.h"

namespace trainyard {

void write_search_pictures(const PlanAnswer& answer, const Words& words, Streams& streams) {
  if (!asks_for_picture(words)) return;
  const ParetoModel model = plan_points(answer.space, answer.found, answer.options.spare);
  Drawing drawing(kParetoSize);
  draw_pareto(drawing, {0, 0, kParetoSize.width, kParetoSize.height}, model, {});
  write_picture(drawing, Theme::Dark, words, streams);
}

}  // namespace trainyard

#include "app/cli/plan_picture.h"

#include <ostream>

#include "app/cli/scenario_words.h"
#include "app/workspace/plan_points.h"
#include "visualizers/pareto_view.h"
#include "visualizers/png.h"
#include "visualizers/render.h"
#include "visualizers/svg.h"

namespace trainyard {

void write_search_pictures(const PlanAnswer& answer, const Words& words, Streams& streams) {
  if (!words.has("svg") && !words.has("png")) return;
  const ParetoModel model = plan_points(answer.space, answer.found, answer.options.spare);
  Drawing drawing(kParetoSize);
  draw_pareto(drawing, {0, 0, kParetoSize.width, kParetoSize.height}, model, {});
  const auto write = [&](std::string_view flag, const std::string& bytes) {
    write_file(words.text(flag), bytes);
    if (!words.has("quiet")) streams.err << "wrote " << words.text(flag) << "\n";
  };
  if (words.has("svg")) write("svg", to_svg(drawing, Theme::Dark));
  if (words.has("png")) write("png", to_png(render(drawing, 2, Theme::Dark)));
}

}  // namespace trainyard

#include "app/cli/plan_picture.h"

#include <ostream>

#include "app/cli/scenario_words.h"
#include "planners/exact_price.h"
#include "visualizers/pareto_view.h"
#include "visualizers/png.h"
#include "visualizers/render.h"
#include "visualizers/svg.h"

namespace trainyard {
namespace {

ParetoFate drawn_as(Fate fate) {
  switch (fate) {
    case Fate::Best:
      return ParetoFate::Best;
    case Fate::Front:
      return ParetoFate::Front;
    case Fate::Memory:
      return ParetoFate::TooLarge;
    default:
      return ParetoFate::Dominated;
  }
}

// Shapes tell apart what a pipeline does most differently.
std::uint8_t family_of(const PlanSpace& space, PlanId id) {
  const std::string& schedule = space.value(id, space.knob("schedule"));
  const std::size_t pp = space.knob("pp");
  if (space.number(pp, space.digit(id, pp)) == 1) return 3;
  if (schedule == "interleaved") return 1;
  return schedule == "1f1b" || schedule == "gpipe" ? 0 : 2;
}

ParetoModel model_of(const PlanAnswer& a) {
  ParetoModel model;
  model.families = {"1f1b, gpipe", "interleaved", "other schedules", "no pipeline"};
  const Cluster& cluster = a.space.base().cluster;
  model.capacity = static_cast<double>(memory_limit(cluster, a.options.spare).value);
  if (!a.best.empty() && a.best.front().counts_tokens)
    model.tokens = a.best.front().tokens_per_step;
  const std::size_t devices = a.space.knob("devices");
  for (std::size_t i = 0; i < a.found.ids.size(); ++i) {
    const PricedPlan& plan = a.found.plans[i];
    if (!legal(plan.fate) || plan.step <= Duration{}) continue;
    const PlanId id = a.found.ids[i];
    Cluster used = cluster;
    used.count = a.space.number(devices, a.space.digit(id, devices));
    model.points.push_back({id, to_seconds(plan.step), static_cast<double>(plan.memory.value),
                            step_money(used, plan.step), family_of(a.space, id),
                            drawn_as(plan.fate), plan.bound});
  }
  find_front(model);
  return model;
}

}  // namespace

void write_search_pictures(const PlanAnswer& answer, const Words& words, Streams& streams) {
  if (!words.has("svg") && !words.has("png")) return;
  const ParetoModel model = model_of(answer);
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

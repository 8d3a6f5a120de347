// report: a page with the verdict on a plan, its figures, pictures and tables, in one file.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <ostream>

#include "app/cli/text/plans/scenario_words.h"
#include "app/workspace/scenario/prices.h"
#include "app/workspace/scenario/refuse_flag.h"
#include "app/workspace/scenario/scenario_page.h"
#include "app/workspace/scenario/wave_study.h"
#include "app/workspace/scenario/workspace.h"
#include "core/base/split_list.h"
#include "core/io/bytes/file_writer.h"
#include "visualizers/view.h"

namespace trainyard {
namespace {

std::vector<std::string> view_words(const std::string& list) {
  std::vector<std::string> names;
  for (const std::string_view name : split_list(list)) {
    try {
      names.emplace_back(view(name).name);
    } catch (const Error& error) {
      refuse_flag("views", error.what());
    }
    if (std::find(names.begin(), std::prev(names.end()), name) != std::prev(names.end()))
      refuse_flag("views", fmt::format("expected each view once, found \"{}\" twice", name));
  }
  if (names.empty())
    refuse_flag("views", "expected views with commas between them, as timeline,memory, found none");
  return names;
}

int run_report(const Words& words, Streams& streams) {
  const std::string path = words.text("out");
  if (path.size() < 5 || path.compare(path.size() - 5, 5, ".html") != 0)
    refuse_flag("out", fmt::format("expected a file ending in .html, found \"{}\"", path));
  const Theme theme =
      words.choice("theme", {"light", "dark"}, "light") == "dark" ? Theme::Dark : Theme::Light;
  words.choice("grain", {"order", "op"}, "order");
  const std::vector<std::string> names =
      words.has("views") ? view_words(words.text("views")) : usual_page_views();
  Scenario scenario = open_scenario(words, streams);
  const std::shared_ptr<const CostModel> costs = open_costs(words, scenario);
  const ExperimentPtr experiment = simulate(
      scenario,
      {.grain = grain_word(words, scenario),
       .cost = costs.get(),
       .micro_batch_given = gives_micro_batch({"", "", words.text("plan"), words.texts("set")})});
  const bool waves = std::find(names.begin(), names.end(), "waves") != names.end();
  const ViewData data(experiment, costs ? costs : cost_model(scenario),
                      waves ? wave_study(scenario, experiment->grain) : nullptr);
  write_file(path, to_html(scenario_page(data, names), theme));
  if (!words.has("quiet")) streams.err << "wrote " << path << "\n";
  return experiment->result.verdict.fits ? kDone : kNotMet;
}

}  // namespace

Verb report_verb() {
  return {
      .name = "report",
      .summary =
          "Writes one page for a browser: the verdict, its figures, pictures and tables, and "
          "what they rest on.",
      .flags = with_scenario_flags(
          {order_flag(),
           grain_flag(),
           calibration_flag(),
           cost_flag(),
           {"views", "NAMES",
            "what it shows, as timeline,memory,waves (default: timeline, memory, utilisation, "
            "roofline, communication, energy)"},
           {"theme", "THEME", "light (default) or dark"}}),
      .examples = {"report --model llama-3-8b --cluster h100-sxm:8 --set tp=8 --out report.html",
                   "report --model gpt-tiny --cluster cpu:2 --set pp=2 --set global-batch=8 "
                   "--views timeline,memory,order --theme dark --out report.html"},
      .run = run_report};
}

}  // namespace trainyard

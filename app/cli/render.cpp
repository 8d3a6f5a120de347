// render: any view of a simulated scenario as a picture, without a display.
#include <fmt/format.h>

#include <ostream>

#include "app/cli/scenario_words.h"
#include "app/workspace/workspace.h"
#include "core/base/error.h"
#include "visualizers/png.h"
#include "visualizers/render.h"
#include "visualizers/svg.h"
#include "visualizers/views.h"

namespace trainyard {
namespace {

bool ends_with(const std::string& text, std::string_view end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

std::string picture(const View& chosen, const ViewData& data, const Words& words, bool svg) {
  const Size size{static_cast<float>(words.integer("width", 64, 16384,
                                                   static_cast<std::int64_t>(chosen.size.width))),
                  static_cast<float>(words.integer("height", 64, 16384,
                                                   static_cast<std::int64_t>(chosen.size.height)))};
  const Theme theme =
      words.choice("theme", {"dark", "light"}, "dark") == "dark" ? Theme::Dark : Theme::Light;
  ViewState state;
  state.scale = words.number("scale", 0.25, 8, 1);
  const double pixels = static_cast<double>(size.width) * static_cast<double>(size.height) *
                        state.scale * state.scale;
  if (!svg && pixels > 2.0e8)
    throw Error(
        Error::Kind::InvalidInput,
        fmt::format("expected at most 200 million pixels, found {:.0f} million", pixels / 1e6),
        {"--scale"});
  const Drawing drawing = chosen.draw(data, size, state);
  return svg ? to_svg(drawing, theme) : to_png(render(drawing, state.scale, theme));
}

int run_render(const Words& words, Streams& streams) {
  const View& chosen = view(words.text(""));
  const std::string path = words.text("out");
  const bool svg = ends_with(path, ".svg");
  if (!svg && !ends_with(path, ".png"))
    throw Error(Error::Kind::InvalidInput,
                fmt::format("expected a file ending in .svg or .png, found \"{}\"", path),
                {"--out"});
  words.choice("grain", {"order", "op"}, "order");  // refused before anything is read
  const Scenario scenario = open_scenario(words, streams);
  const ExperimentPtr experiment =
      simulate(scenario, {.grain = grain_word(words, scenario), .fixes = false});
  write_file(path,
             picture(chosen, view_data(experiment, *cost_model(experiment->workload.scenario)),
                     words, svg));
  if (!words.has("quiet")) streams.err << "wrote " << path << "\n";
  return kDone;
}

std::string_view view_names() {
  static const std::string names = [] {
    std::string list;
    for (const View& one : views()) list += (list.empty() ? "" : ", ") + std::string(one.name);
    return list;
  }();
  return names;
}

}  // namespace

Verb render_verb() {
  return {.name = "render",
          .summary = "Draws a view of a simulated scenario into a file, without a display.",
          .positional = "VIEW",
          .positional_doc = view_names(),
          .positional_required = true,
          .flags = with_scenario_flags(
              {order_flag(),
               grain_flag(),
               {"width", "N", "logical pixels"},
               {"height", "N", "logical pixels"},
               {"scale", "X", "device pixels a logical one, for .png (default 1)"},
               {"theme", "THEME", "dark (default) or light"}}),
          .examples =
              {"render memory --model llama-3-8b --cluster h100-sxm:8 --set tp=8 --out memory.svg"},
          .run = run_render};
}

}  // namespace trainyard

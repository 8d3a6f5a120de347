// render: any view of a simulated scenario as a picture, without a display.
#include <fmt/format.h>

#include <ostream>

#include "app/cli/scenario_words.h"
#include "app/workspace/published.h"
#include "app/workspace/workspace.h"
#include "core/base/error.h"
#include "core/validation/validation.h"
#include "visualizers/png.h"
#include "visualizers/render.h"
#include "visualizers/svg.h"
#include "visualizers/validation_view.h"
#include "visualizers/views.h"

namespace trainyard {
namespace {

// No view of an experiment.
constexpr std::string_view kValidation = "validation";

bool ends_with(const std::string& text, std::string_view end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

// draw(size, state) gives the drawing.
template <class Draw>
std::string picture(Size usual, const Draw& draw, const Words& words, bool svg) {
  const Size size{
      static_cast<float>(words.integer("width", 64, 16384, static_cast<std::int64_t>(usual.width))),
      static_cast<float>(
          words.integer("height", 64, 16384, static_cast<std::int64_t>(usual.height)))};
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
  const Drawing drawing = draw(size, state);
  return svg ? to_svg(drawing, theme) : to_png(render(drawing, state.scale, theme));
}

// The rows that ship, all held against their predictions.
std::string validation_file(const Words& words, bool svg) {
  const ValidationModel model =
      validation_model(published_set(), validate(published_set(), {.explained = 0}));
  return picture(
      validation_size(model),
      [&](Size size, const ViewState& state) {
        Drawing drawing(size);
        draw_validation(drawing, {0, 0, size.width, size.height}, model, state);
        return drawing;
      },
      words, svg);
}

std::string experiment_file(const View& chosen, const Words& words, Streams& streams, bool svg) {
  const Scenario scenario = open_scenario(words, streams);
  const ExperimentPtr experiment =
      simulate(scenario, {.grain = grain_word(words, scenario), .fixes = false});
  const ViewData data = view_data(experiment, *cost_model(experiment->workload.scenario));
  return picture(
      chosen.size,
      [&](Size size, const ViewState& state) { return chosen.draw(data, size, state); }, words,
      svg);
}

int run_render(const Words& words, Streams& streams) {
  const bool rows = words.text("") == kValidation;
  const View* chosen = rows ? nullptr : &view(words.text(""));
  const std::string path = words.text("out");
  const bool svg = ends_with(path, ".svg");
  if (!svg && !ends_with(path, ".png"))
    throw Error(Error::Kind::InvalidInput,
                fmt::format("expected a file ending in .svg or .png, found \"{}\"", path),
                {"--out"});
  words.choice("grain", {"order", "op"}, "order");  // refused before anything is read
  write_file(path,
             rows ? validation_file(words, svg) : experiment_file(*chosen, words, streams, svg));
  if (!words.has("quiet")) streams.err << "wrote " << path << "\n";
  return kDone;
}

std::string_view view_names() {
  static const std::string names = [] {
    std::string list;
    for (const View& one : views()) list += (list.empty() ? "" : ", ") + std::string(one.name);
    return list + ", or " + std::string(kValidation) + ": the published rows, without a model";
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

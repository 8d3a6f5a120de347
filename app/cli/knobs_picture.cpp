#include "app/cli/knobs_picture.h"

#include <ostream>

#include "app/cli/scenario_words.h"
#include "app/workspace/knob_strips.h"
#include "visualizers/png.h"
#include "visualizers/render.h"
#include "visualizers/svg.h"

namespace trainyard {

std::vector<Flag> strips_picture_flags() {
  return {{"svg", "FILE", "draws the strips there, beside the text"},
          {"png", "FILE", "the same as pixels, two a logical one"},
          {"theme", "THEME", "of the picture: dark (default) or light"}};
}

void write_strips(const Sensitivity& all, const Words& words, Streams& streams) {
  const Theme theme =
      words.choice("theme", {"dark", "light"}, "dark") == "dark" ? Theme::Dark : Theme::Light;
  if (!words.has("svg") && !words.has("png")) return;
  const Drawing drawing = knobs_picture(knobs_model(all));
  const auto write = [&](std::string_view flag, const std::string& bytes) {
    write_file(words.text(flag), bytes);
    if (!words.has("quiet")) streams.err << "wrote " << words.text(flag) << "\n";
  };
  if (words.has("svg")) write("svg", to_svg(drawing, theme));
  if (words.has("png")) write("png", to_png(render(drawing, 2, theme)));
}

}  // namespace trainyard

#include "app/cli/validate_picture.h"

#include <ostream>

#include "app/cli/scenario_words.h"
#include "visualizers/png.h"
#include "visualizers/render.h"
#include "visualizers/svg.h"
#include "visualizers/validation_view.h"

namespace trainyard {

std::vector<Flag> picture_flags() {
  return {{"svg", "FILE", "draws predicted against measured there, beside the text"},
          {"png", "FILE", "the same as pixels, two a logical one"}};
}

void write_pictures(const RowSet& set, const Validation& validation, const Words& words,
                    Streams& streams) {
  if (!words.has("svg") && !words.has("png")) return;
  const Drawing drawing = validation_picture(validation_model(set, validation));
  const auto write = [&](std::string_view flag, const std::string& bytes) {
    write_file(words.text(flag), bytes);
    if (!words.has("quiet")) streams.err << "wrote " << words.text(flag) << "\n";
  };
  if (words.has("svg")) write("svg", to_svg(drawing, Theme::Dark));
  if (words.has("png")) write("png", to_png(render(drawing, 2, Theme::Dark)));
}

}  // namespace trainyard

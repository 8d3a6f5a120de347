#include "app/cli/pictures/knobs_picture.h"

#include "app/cli/pictures/picture_files.h"
#include "app/workspace/plans/knob_strips.h"

namespace trainyard {

std::vector<Flag> strips_picture_flags() {
  return {{"svg", "FILE", "draws the strips there, beside the text"},
          {"png", "FILE", "the same as pixels, two a logical one"},
          theme_flag()};
}

void write_strips(const Sensitivity& all, const Words& words, Streams& streams) {
  const Theme theme = theme_of(words);
  if (!asks_for_picture(words)) return;
  const Drawing drawing = knobs_picture(knobs_model(all));
  write_picture(drawing, theme, words, streams);
}

}  // namespace trainyard

#include "app/cli/pictures/validate_picture.h"

#include "app/cli/pictures/picture_files.h"
#include "visualizers/validation/validation_view.h"

namespace trainyard {

std::vector<Flag> picture_flags() {
  return {{"svg", "FILE", "draws predicted against measured there, beside the text"},
          {"png", "FILE", "the same as pixels, two a logical one"}};
}

void write_pictures(const RowSet& set, const Validation& validation, const Words& words,
                    Streams& streams) {
  if (!asks_for_picture(words)) return;
  const Drawing drawing = validation_picture(validation_model(set, validation));
  write_picture(drawing, Theme::Dark, words, streams);
}

}  // namespace trainyard

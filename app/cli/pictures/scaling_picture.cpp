#include "app/cli/pictures/scaling_picture.h"

#include <ostream>

#include "app/cli/pictures/picture_files.h"
#include "app/cli/text/scenario_words.h"
#include "core/io/bytes/file_writer.h"
#include "visualizers/scaling/scaling_view.h"

namespace trainyard {

std::vector<Flag> scaling_file_flags() {
  return {{"csv", "FILE", "every point of both curves as a row"},
          {"svg", "FILE", "draws both curves there, beside the text"},
          {"png", "FILE", "the same as pixels, two a logical one"},
          theme_flag()};
}

void write_scaling_files(const ScalingStudy& study, const Words& words, Streams& streams) {
  const Theme theme = theme_of(words);
  if (words.has("csv")) {
    write_file(words.text("csv"), to_csv(scaling_table(study)));
    if (!words.has("quiet")) streams.err << "wrote " << words.text("csv") << "\n";
  }
  if (!asks_for_picture(words)) return;
  Drawing drawing(kScalingSize);
  draw_scaling(drawing, whole(kScalingSize), study, {});
  write_picture(drawing, theme, words, streams);
}

}  // namespace trainyard

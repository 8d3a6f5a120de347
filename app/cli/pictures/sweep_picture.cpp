#include "app/cli/pictures/sweep_picture.h"

#include <ostream>

#include "app/cli/pictures/picture_files.h"
#include "core/io/bytes/file_writer.h"
#include "visualizers/sweep/sweep_view.h"

namespace trainyard {

std::vector<Flag> sweep_file_flags() {
  return {{"csv", "FILE", "every combination as a row"},
          {"svg", "FILE",
           "draws the figure there: bars over the values of one axis, or a heat map over the two "
           "longest axes for each combination of the others"},
          {"png", "FILE", "the same as pixels, two a logical one"},
          theme_flag()};
}

void write_sweep_files(const SweepStudy& study, SweepFigure by, const Words& words,
                       Streams& streams) {
  if (words.has("csv")) {
    write_file(words.text("csv"), to_csv(sweep_table(study)));
    if (!words.has("quiet")) streams.err << "wrote " << words.text("csv") << "\n";
  }
  if (!asks_for_picture(words)) return;
  Drawing drawing(sweep_size(study));
  draw_sweep(drawing, whole(drawing.size), study, by, {});
  write_picture(drawing, theme_of(words), words, streams);
}

}  // namespace trainyard

#include "app/cli/pictures/probe_picture.h"

#include <ostream>

#include "app/cli/pictures/picture_files.h"
#include "core/io/bytes/file_writer.h"
#include "visualizers/probe/staircase_view.h"

namespace trainyard {

std::vector<Flag> probe_file_flags() {
  return {{"csv", "FILE", "every width as a row"},
          {"svg", "FILE", "draws the staircase over the roofline there, beside the text"},
          {"png", "FILE", "the same as pixels, two a logical one"},
          theme_flag()};
}

void write_probe_files(const WidthProbe& probe, const Words& words, Streams& streams) {
  const Theme theme = theme_of(words);
  if (words.has("csv")) {
    write_file(words.text("csv"), to_csv(staircase_table(probe)));
    if (!words.has("quiet")) streams.err << "wrote " << words.text("csv") << "\n";
  }
  if (asks_for_picture(words)) write_picture(staircase_picture(probe), theme, words, streams);
}

}  // namespace trainyard

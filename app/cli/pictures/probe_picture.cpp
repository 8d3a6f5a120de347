#include "app/cli/pictures/probe_picture.h"

#include <ostream>

#include "app/cli/pictures/picture_files.h"
#include "core/io/bytes/file_writer.h"
#include "visualizers/probe/batch_view.h"
#include "visualizers/probe/staircase_view.h"

namespace trainyard {
namespace {

// The picture is made only where a file wants it.
template <class Picture>
void write_files(const DataTable& table, const Picture& picture, const Words& words,
                 Streams& streams) {
  const Theme theme = theme_of(words);
  if (words.has("csv")) {
    write_file(words.text("csv"), to_csv(table));
    if (!words.has("quiet")) streams.err << "wrote " << words.text("csv") << "\n";
  }
  if (asks_for_picture(words)) write_picture(picture(), theme, words, streams);
}

}  // namespace

std::vector<Flag> probe_file_flags() {
  return {{"csv", "FILE", "every width or batch as a row"},
          {"svg", "FILE", "draws the staircase, or rates over the batch, there, beside the text"},
          {"png", "FILE", "the same as pixels, two a logical one"},
          theme_flag()};
}

void write_probe_files(const WidthProbe& probe, const Words& words, Streams& streams) {
  write_files(staircase_table(probe), [&] { return staircase_picture(probe); }, words, streams);
}

void write_probe_files(const BatchStudy& study, const Words& words, Streams& streams) {
  write_files(batch_table(study), [&] { return batch_picture(study); }, words, streams);
}

}  // namespace trainyard

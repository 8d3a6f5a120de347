#include "app/cli/pictures/picture_files.h"

#include <ostream>

#include "app/cli/text/plans/scenario_words.h"
#include "core/io/bytes/file_writer.h"
#include "visualizers/drawing/png.h"
#include "visualizers/drawing/svg.h"
#include "visualizers/imgui/render.h"

namespace trainyard {

Flag theme_flag() { return {"theme", "THEME", "of the picture: dark (default) or light"}; }

Theme theme_of(const Words& words) {
  return words.choice("theme", {"dark", "light"}, "dark") == "dark" ? Theme::Dark : Theme::Light;
}

bool asks_for_picture(const Words& words) { return words.has("svg") || words.has("png"); }

void write_picture(const Drawing& drawing, Theme theme, const Words& words, Streams& streams) {
  const auto write = [&](std::string_view flag, const std::string& bytes) {
    write_file(words.text(flag), bytes);
    if (!words.has("quiet")) streams.err << "wrote " << words.text(flag) << "\n";
  };
  if (words.has("svg")) write("svg", to_svg(drawing, theme));
  if (words.has("png")) write("png", to_png(render(drawing, 2, theme)));
}

std::vector<Flag> table_and_picture_flags(std::string_view csv, std::string_view svg) {
  return {{"csv", "FILE", csv},
          {"svg", "FILE", svg},
          {"png", "FILE", "the same as pixels, two a logical one"},
          theme_flag()};
}

void write_table_and_picture(const DataTable& table, const std::function<Drawing()>& picture,
                             const Words& words, Streams& streams) {
  const Theme theme = theme_of(words);
  if (words.has("csv")) {
    write_file(words.text("csv"), to_csv(table));
    if (!words.has("quiet")) streams.err << "wrote " << words.text("csv") << "\n";
  }
  if (asks_for_picture(words)) write_picture(picture(), theme, words, streams);
}

}  // namespace trainyard

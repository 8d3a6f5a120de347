#include "app/desktop/controls/theme_colours.h"

namespace trainyard {
namespace {

Theme& theme_in_use() {
  static Theme theme = Theme::Dark;
  return theme;
}

}  // namespace

QColor qcolor(Ink ink, Theme theme) {
  const Rgba c = colour(ink, theme);
  return {c.r, c.g, c.b, c.a};
}

Theme current_theme() { return theme_in_use(); }

void set_current_theme(Theme theme) { theme_in_use() = theme; }

}  // namespace trainyard

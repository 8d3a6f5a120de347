#include "app/desktop/controls/preferences.h"

#include <QSettings>
#include <QStringList>

#include <algorithm>

namespace trainyard {
namespace {

bool& wheel() {
  static bool zooms = false;
  return zooms;
}

RendererChoice& renderer() {
  static RendererChoice choice = RendererChoice::Auto;
  return choice;
}

// The words of each choice, in the order of its values.
const QStringList kThemes = {"system", "dark", "light"};
const QStringList kNumbers = {"usual", "si", "exact"};
const QStringList kRenderers = {"auto", "vulkan", "soft"};

template <typename Choice>
Choice choice_of(const QStringList& words, const QString& word) {
  return static_cast<Choice>(std::max(0, static_cast<int>(words.indexOf(word))));
}

template <typename Choice>
QString word_of(const QStringList& words, Choice choice) {
  return words[static_cast<int>(choice)];
}

}  // namespace

Preferences load_preferences() {
  const QSettings kept;
  Preferences p;
  p.theme = choice_of<ThemeChoice>(kThemes, kept.value("theme").toString());
  p.wheel_zooms = kept.value("wheel-zooms", p.wheel_zooms).toBool();
  p.numbers = choice_of<NumberStyle>(kNumbers, kept.value("numbers").toString());
  p.renderer = choice_of<RendererChoice>(kRenderers, kept.value("renderer").toString());
  p.restore = kept.value("restore", p.restore).toBool();
  return p;
}

void save(const Preferences& p) {
  QSettings kept;
  kept.setValue("theme", word_of(kThemes, p.theme));
  kept.setValue("wheel-zooms", p.wheel_zooms);
  kept.setValue("numbers", word_of(kNumbers, p.numbers));
  kept.setValue("renderer", word_of(kRenderers, p.renderer));
  kept.setValue("restore", p.restore);
}

Theme theme_of(ThemeChoice choice) {
  if (choice == ThemeChoice::System) return system_theme();
  return choice == ThemeChoice::Dark ? Theme::Dark : Theme::Light;
}

bool wheel_zooms() { return wheel(); }

void use_renderer(RendererChoice choice) { renderer() = choice; }

RendererChoice renderer_in_use() { return renderer(); }

void use(const Preferences& p) {
  wheel() = p.wheel_zooms;
  use_number_style(p.numbers);
  use_renderer(p.renderer);
}

}  // namespace trainyard

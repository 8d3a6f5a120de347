// What a person likes, kept in their settings and used by the whole program at once.
#pragma once

#include <QString>

#include "app/desktop/controls/theme.h"
#include "visualizers/imgui/renderer.h"
#include "visualizers/viewmodel/format.h"

namespace trainyard {

enum class ThemeChoice { System, Dark, Light };

struct Preferences {
  ThemeChoice theme = ThemeChoice::System;
  bool wheel_zooms = false;  // without Ctrl; then Ctrl scrolls
  NumberStyle numbers = NumberStyle::Usual;
  RendererChoice renderer = RendererChoice::Auto;  // of canvases made from now on
  bool restore = true;                             // opens what was open last
  friend bool operator==(const Preferences&, const Preferences&) = default;
};

/// Values that cannot be read are the defaults.
Preferences load_preferences();
void save(const Preferences&);
Theme theme_of(ThemeChoice);

/// Whether the wheel alone zooms on canvases.
bool wheel_zooms();
/// Sets the renderer that canvases ask for when they are made. The program calls it once, before
/// its first window.
void use_renderer(RendererChoice);
RendererChoice renderer_in_use();
/// Makes wheel, numbers and renderer so; the theme is apply_theme's.
void use(const Preferences&);

}  // namespace trainyard

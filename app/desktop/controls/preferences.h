// Preferences are the user's choices, stored in their settings and applied to the whole program at
// once.
#pragma once

#include <QString>

#include "app/desktop/controls/theme.h"
#include "visualizers/imgui/renderer.h"
#include "visualizers/viewmodel/format.h"

namespace trainyard {

enum class ThemeChoice { System, Dark, Light };

struct Preferences {
  ThemeChoice theme = ThemeChoice::System;
  bool wheel_zooms = false;  // the wheel zooms without Ctrl; Ctrl then scrolls
  NumberStyle numbers = NumberStyle::Usual;
  RendererChoice renderer = RendererChoice::Auto;  // of canvases created from now on
  bool restore = true;                             // reopen at startup what was open last
  friend bool operator==(const Preferences&, const Preferences&) = default;
};

/// Values that cannot be read are replaced by the defaults.
Preferences load_preferences();
void save(const Preferences&);
Theme theme_of(ThemeChoice);

/// Returns whether the wheel zooms on canvases without Ctrl.
bool wheel_zooms();
/// Sets the renderer that canvases request when they are created. The program calls it once, before
/// its first window.
void use_renderer(RendererChoice);
RendererChoice renderer_in_use();
/// Applies wheel, numbers and renderer; apply_theme() applies the theme.
void use(const Preferences&);

}  // namespace trainyard

// Lists every command of the window in one table, from which the menu, the palette and the sheet of
// shortcuts are made, so that help always agrees with behaviour.
#pragma once

#include <span>

#include "app/desktop/controls/actions.h"

namespace trainyard {

/// All commands, including those of perspectives, their tabs and lessons: "view.analyse",
/// "view.timeline", "learn.3".
std::span<const Command> commands();

/// A key that works while a canvas has the focus; the canvas reads it itself.
struct CanvasKey {
  const char* keys;
  const char* help;
};
std::span<const CanvasKey> canvas_keys();

}  // namespace trainyard

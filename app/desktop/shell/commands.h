// Every command of the window in one table: menu, palette and the sheet of shortcuts are made from
// it, so that help never differs from what happens.
#pragma once

#include <span>

#include "app/desktop/controls/actions.h"

namespace trainyard {

/// Those of perspectives, their tabs and lessons among them: "view.analyse", "view.timeline",
/// "learn.3".
std::span<const Command> commands();

/// Keys that work while a canvas has the focus; the canvas reads them itself.
struct CanvasKey {
  const char* keys;
  const char* help;
};
std::span<const CanvasKey> canvas_keys();

}  // namespace trainyard

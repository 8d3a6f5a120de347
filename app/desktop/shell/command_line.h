// The words after `trainyard-desktop`.
#pragma once

#include <QSize>
#include <QString>
#include <QStringList>

#include <optional>

#include "app/workspace/scenario/workspace.h"
#include "visualizers/drawing/palette.h"
#include "visualizers/imgui/renderer.h"

namespace trainyard {

struct CommandLine {
  QStringList files;
  Request request;  // model empty: none was named
  std::optional<RendererChoice> renderer;
  std::optional<Theme> theme;
  QString perspective;   // empty, or one of perspectives()
  bool search = false;   // for plans, at once
  QString tab;           // of whichever perspective has it
  QString lesson;        // "3:4"; empty: none
  QStringList commands;  // by name; run when all is there, in this order
  QString state;         // a JSON file that always says what the window shows
  bool fresh = false;    // no settings, nothing of the last session, no journal
  QString screenshot;    // a PNG file: show, wait until all is drawn, save, leave
  QSize size{1600, 1000};
};

/// Throws Error{InvalidInput} naming the word. `--help` prints and leaves.
CommandLine parse_command_line(const QStringList& arguments);

}  // namespace trainyard

// A CommandLine holds the words after `trainyard-desktop`.
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
  QString perspective;   // empty, or the id of one of perspectives()
  bool search = false;   // start a search for plans at once
  QString tab;           // of whichever perspective has it
  QString lesson;        // such as "3:4"; empty: none
  QStringList commands;  // names of commands to run in this order once all has loaded
  QString state;         // JSON file that always describes what the window shows
  bool fresh = false;    // use no settings, no last session and no journal
  QString screenshot;    // PNG file: save it once all is drawn, then exit
  QSize size{1600, 1000};
};

/// Throws Error{InvalidInput} naming the word. `--help` prints the help and exits.
CommandLine parse_command_line(const QStringList& arguments);

}  // namespace trainyard

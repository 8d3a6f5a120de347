// Perspectives are the named arrangements of the window, in one table. To add one, add its line in
// perspective.cpp and its page in Window::make_page(); menus, tool bar, palette, keys and the
// command line follow.
#pragma once

#include <QList>
#include <QString>
#include <QStringList>

#include <span>

namespace trainyard {

/// Sizes in pixels; 0 hides the dock.
struct DockSizes {
  int left = 0;                     // width of the project
  int right = 0;                    // width of inspector and strategy
  int inspector = 0, strategy = 0;  // heights
  int bottom = 0;                   // height
};

struct Perspective {
  const char* id;  // "design", as in project files and --perspective
  const char* title;
  const char* key;   // portable text
  const char* help;  // one sentence
  DockSizes docks;
  std::span<const char* const> tabs;  // names, lower case, unique over all perspectives
  bool needs_model;                   // if there is none, the start page is shown instead
};
std::span<const Perspective> perspectives();

/// Null if there is no perspective with this id.
const Perspective* find_perspective(const QString& id);
/// The perspective with this tab; null if there is none.
const Perspective* perspective_of_tab(const QString& tab);
/// The names for a sentence: "design, analyse or learn".
QString perspective_names();
QString tab_names();

}  // namespace trainyard

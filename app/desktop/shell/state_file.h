// A StateFile describes what the window shows in a file that is rewritten on every change, so that
// a script that sends real keys and clicks knows where things are and when they have happened.
#pragma once

#include <QObject>
#include <QString>

#include <string>

namespace trainyard {

class Window;

/// One JSON object: perspective, tab, title, settled, verdict, fixes, readings, selection, whether
/// the window has the keyboard, the focus, the open dialog, frames painted so far, and every
/// visible widget, tab and row that has a name. Each has its rectangle on the screen in logical
/// pixels, its text, and whether its centre is visible; a canvas's text is its description for
/// assistive tools, a row's cells are its other columns. Equal windows give equal bytes.
std::string window_state(Window&, qint64 frames);

class StateFile : public QObject {
  Q_OBJECT

 public:
  /// The window becomes its parent. If the file cannot be written, this is reported once on
  /// standard error.
  StateFile(Window&, QString file);

 private:
  void look();
  Window& window_;
  QString file_;
  std::string written_;
  qint64 frames_ = 0;
  bool told_ = false;
};

}  // namespace trainyard

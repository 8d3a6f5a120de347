// What the window shows, as a file: written anew whenever it changes, so that a script that sends
// real keys and clicks knows where things are and when they have happened.
#pragma once

#include <QObject>
#include <QString>

#include <string>

namespace trainyard {

class Window;

/// One JSON object: perspective, tab, title, settled, verdict, fixes, readings, selection, whether
/// the keyboard is the window's, the focus, the dialog that is open, frames painted so far, and
/// every visible widget, tab and row that has a name, with its rectangle on the screen in logical
/// pixels, its text, and whether its centre is in sight; a canvas's text is what it tells assistive
/// tools, a row's cells are its other columns. Equal windows give equal bytes.
std::string window_state(Window&, qint64 frames);

class StateFile : public QObject {
  Q_OBJECT

 public:
  /// Belongs to the window. A file that cannot be written is told once on the error stream.
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

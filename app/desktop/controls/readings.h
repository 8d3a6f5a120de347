// The status bar: the same six readings in the same order everywhere, and at the right what drew
// them.
#pragma once

#include <QStatusBar>
#include <QTimer>

#include "app/desktop/session/session.h"

class QLabel;

namespace trainyard {

class Readings : public QStatusBar {
  Q_OBJECT

 public:
  Readings(Session&, QWidget* parent = nullptr);
  /// Says these in place of the readings, each rich text; none: the readings again.
  void say(const QStringList&);
  void set_renderer(const QString& name, const QString& why);
  /// Shown four times a second at most: nobody reads faster, and the bar is laid out for each.
  void set_frame_time(double milliseconds);

 private:
  void refresh();
  void show_said();
  void show_frame_time();
  Session& session_;
  QList<QLabel*> values_;
  QList<QWidget*> rules_;  // behind each of them
  QStringList said_;       // in their place
  QLabel *source_, *frame_, *renderer_;
  double frame_time_ = 0;  // milliseconds
  QTimer frame_shown_;     // while it runs, the newest waits
};

/// The six, each with its unit and range: "step <b>4.938 s</b> (4.59 to 5.28)".
QStringList reading_texts(const Result&);
/// Every figure that has a range, with it, and where the ranges come from: name and text.
QList<std::pair<QString, QString>> banded_figures(const Result&);
/// The same as rich text for a tooltip, and what was assumed.
QString bands_html(const Result&);

}  // namespace trainyard

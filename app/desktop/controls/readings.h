// Readings is the status bar: it shows the same six readings in the same order everywhere, and the
// renderer at the right.
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
  /// Shows these rich texts in place of the readings; an empty list restores the readings.
  void say(const QStringList&);
  void set_renderer(const QString& name, const QString& why);
  /// Updated at most four times a second: nobody reads faster, and each update lays out the bar.
  void set_frame_time(double milliseconds);

 protected:
  void resizeEvent(QResizeEvent*) override;

 private:
  void refresh();
  void show_readings();
  void show_said();
  void show_frame_time();
  void fit();
  Session& session_;
  QList<QLabel*> values_;
  QList<QWidget*> rules_;  // separators behind the readings
  QList<QWidget*> spare_;  // what gives way first if the bar is narrow
  QStringList said_;       // texts in place of the readings
  QLabel *source_, *frame_, *renderer_;
  double frame_time_ = 0;  // milliseconds
  QTimer frame_shown_;     // while it runs, the newest value waits
};

/// The six readings, each with its unit and range: "step <b>4.938 s</b> (4.59 to 5.28)".
QStringList reading_texts(const Result&);
/// How the result was found, for people: "Simulated (order grain)".
QString source_text(const Result&);
/// Every figure with a range, as name and text, followed by the origin of the ranges.
QList<std::pair<QString, QString>> banded_figures(const Result&);
/// The same as rich text for a tooltip, with the assumptions.
QString bands_html(const Result&);

}  // namespace trainyard

// The status bar: the same six readings in the same order everywhere, and at the right what drew
// them.
#pragma once

#include <QStatusBar>

#include "app/desktop/session.h"

class QLabel;

namespace trainyard {

class Readings : public QStatusBar {
  Q_OBJECT

 public:
  Readings(Session&, QWidget* parent = nullptr);
  void set_renderer(const QString& name, const QString& why);
  void set_frame_time(double milliseconds);

 private:
  void refresh();
  Session& session_;
  QList<QLabel*> values_;
  QLabel *source_, *frame_, *renderer_;
};

/// The six, each with its unit: "step <b>4.938 s</b> ± 4 %".
QStringList reading_texts(const Result&);

}  // namespace trainyard

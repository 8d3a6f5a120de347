// The verdict, always in sight: fits or not, in one sentence with its evidence, what limits the
// step, and the cheapest thing to do about it.
#pragma once

#include <QWidget>

#include "app/desktop/session/session.h"
#include "core/validation/row_scenario.h"

class QFrame;
class QLabel;
class QPushButton;

namespace trainyard {

class VerdictBar : public QWidget {
  Q_OBJECT

 public:
  VerdictBar(Session&, QWidget* parent = nullptr);
  /// What the shown plan was measured at, where it is a published row as it stands; null: it is
  /// not.
  void set_published(const PreparedRow*);
  /// "key=value", several with spaces between; empty when nothing is offered.
  QString offered() const { return offered_; }

 Q_SIGNALS:
  void apply(const QString& assignments);

 private:
  void refresh();
  void say(const char* tone, const QString& icon, const QString& head, const QString& evidence,
           const QString& limit);
  void offer(const Verdict*);

  Session& session_;
  QFrame* state_;
  QLabel *icon_, *head_, *evidence_, *limit_, *why_;
  QWidget* rule_;
  QPushButton* button_;
  QString offered_;
  QString published_;
};

/// A sentence cut after its first clause: "Fits on all 64 devices" and the rest.
std::pair<QString, QString> split_sentence(const std::string&);
/// "Tensor 8, Data 1" for "tp=8 dp=1".
QString change_name(const std::string& assignments);
/// "ZB-H1  −0.81 s  +1.50 GiB": a change and what it does to step and peak.
QString change_text(const Fix&, const Result&);

}  // namespace trainyard

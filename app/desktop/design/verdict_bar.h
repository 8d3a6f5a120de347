// A VerdictBar always shows the verdict: whether the plan fits, in one sentence with evidence, what
// limits the step, and the cheapest change.
#pragma once

#include <QWidget>

#include "app/desktop/session/session.h"
#include "core/validation/rows/row_scenario.h"

class QFrame;
class QLabel;
class QPushButton;

namespace trainyard {

class VerdictBar : public QWidget {
  Q_OBJECT

 public:
  VerdictBar(Session&, QWidget* parent = nullptr);
  /// The measurement to show if the plan is an unchanged published row; null otherwise.
  void set_published(const PreparedRow*);
  /// The change offered as "key=value", several separated by spaces; empty if there is none.
  QString offered() const { return offered_; }

 Q_SIGNALS:
  void apply(const QString& assignments);

 private:
  void refresh();
  void say(const char* tone, const QString& icon, const QString& head, const QString& evidence,
           const QString& limit);
  void offer(const Verdict*);
  void offer_way_back(const PlanProblem&);

  Session& session_;
  QFrame* state_;
  QLabel *icon_, *head_, *evidence_, *limit_, *why_;
  QWidget* rule_;
  QPushButton* button_;
  QString offered_;
  QString published_;
};

/// Splits a sentence after its first clause: "Fits on all 64 devices" and the rest.
std::pair<QString, QString> split_sentence(const std::string&);
/// How a result is judged wherever it is shown: "ok", "warn" (the band or less than a hundredth
/// decides) or "error".
const char* fit_tone(const Result&);
/// A change and its effect on step and peak: "ZB-H1  −0.81 s  +1.50 GiB".
QString change_text(const Fix&, const Result&);

}  // namespace trainyard

// The question panel of a step: the student predicts first, then sees the answer, which
// misconception a wrong answer suggests, and states how certain they are; it also shows the
// student's task.
#pragma once

#include <QWidget>

#include "app/desktop/session/lesson_session.h"

class QLabel;
class QLineEdit;
class QPushButton;
class QVBoxLayout;

namespace trainyard {

class Segment;

class LessonQuestionPanel : public QWidget {
  Q_OBJECT

 public:
  explicit LessonQuestionPanel(LessonSession&, QWidget* parent = nullptr);
  /// Enlarges type by the given factor, 1 or 1.5.
  void set_large(double large);
  void refresh();
  /// Selects a choice, counting from 1.
  void choose(int choice);
  /// Accepts the prediction, or checks the task; reports typed text that is not a number.
  void lock_in();
  /// Handles Enter: goes to the field if nothing is predicted yet, to the run if one is asked for
  /// and has not been done, and otherwise calls lock_in().
  void enter();

 private:
  void rebuild();
  void refresh_answer();
  void refresh_run();
  QLabel* line(const QString& text, double pixels, int weight, const char* tone);

  LessonSession& session_;
  QVBoxLayout* column_;
  QLineEdit* edit_ = nullptr;
  Segment* sure_ = nullptr;
  QPushButton *lock_ = nullptr, *check_ = nullptr, *run_ = nullptr;
  QLabel* run_words_ = nullptr;
  QLabel *result_ = nullptr, *after_ = nullptr, *hint_ = nullptr, *told_ = nullptr;
  QList<QPushButton*> choices_;
  double large_ = 1;
  QString built_;
};

}  // namespace trainyard

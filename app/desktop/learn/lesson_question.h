// The question of a step: predict first, then what it is, who believes what, and how sure one was;
// and the task that a student solves.
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
  /// Sets type as large as given, 1 or 1.5 times.
  void set_large(double large);
  void refresh();
  /// The choice of that number, counting from 1.
  void choose(int choice);
  /// Takes the prediction, or looks at the task; what is typed that is no number is told.
  void lock_in();
  /// Enter: the field where nothing is predicted yet, the run where it is asked for and was not
  /// done, else lock_in().
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

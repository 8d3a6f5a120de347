// LessonKnobs shows the knobs of a lesson: the free one, and the others with a lock.
#pragma once

#include <QWidget>

#include <vector>

#include "app/desktop/session/lesson_session.h"

class QLabel;
class QVBoxLayout;

namespace trainyard {

class Stepper;

class LessonKnobs : public QWidget {
  Q_OBJECT

 public:
  explicit LessonKnobs(LessonSession&, QWidget* parent = nullptr);
  /// Steps the free knob with this index, if there is one, to its next or previous value.
  void step_free(std::size_t which, int direction);
  void refresh();

 private:
  struct Row {
    std::string key;
    Stepper* stepper = nullptr;
    QLabel* lock = nullptr;
  };
  void rebuild();
  void step(const std::string& key, int direction);
  void enter(const std::string& key, const QString& value);

  LessonSession& session_;
  QVBoxLayout* column_;
  std::vector<Row> rows_;
  std::size_t built_ = static_cast<std::size_t>(-1);  // index of the lesson shown
};

}  // namespace trainyard

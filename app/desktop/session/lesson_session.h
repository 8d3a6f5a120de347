// What a student does in the lessons: which step is open, what was turned, what was answered. It
// touches no project. Computing happens on a thread of its own; whoever shows it asks again when it
// says that it changed.
#pragma once

#include <QObject>
#include <QString>

#include <memory>
#include <optional>
#include <vector>

#include "app/desktop/session/background.h"
#include "app/desktop/session/training_session.h"
#include "app/workspace/lessons/lesson_panels.h"
#include "core/lesson/answers.h"

namespace trainyard {

/// All that is computed for one look at a step.
struct LessonScreen {
  std::vector<LessonPicture> pictures;
  QString prose, after;         // rich text
  std::optional<double> truth;  // of the question, in its unit
  bool passed = false;          // the task, as things stand
  QString wrong;                // what could not be computed; empty: nothing
};

class LessonSession : public QObject {
  Q_OBJECT

 public:
  /// training: where a step's run goes on, null: nowhere; it must outlive it.
  explicit LessonSession(TrainingSession* training = nullptr, QObject* parent = nullptr);

  const Lesson& lesson() const { return engine_->lesson(); }
  std::size_t step() const { return step_; }
  const LessonStep& current() const { return lesson().steps[step_]; }
  const LessonSettings& settings() const { return settings_; }
  const LessonScreen& screen() const { return screen_; }
  const LessonAnswers& answers() const { return answers_; }
  /// The answer to this step's question; null before it.
  const LessonAnswer* answer() const;
  bool settled() const { return !background_.running(); }
  bool can_undo() const { return !undo_.empty(); }
  int round() const { return round_; }

  /// Both indices are in range; the step's own settings are set.
  void open(std::size_t lesson, std::size_t step);
  void go(std::size_t step) { open(lesson_, step); }
  std::size_t lesson_index() const { return lesson_; }
  /// Turns a knob that is free in this step; others change nothing.
  void turn(const std::string& key, const std::string& value);
  void apply(const LessonSettings&);
  void undo();
  /// The step as it began; what was answered stays.
  void reset();
  /// Once a question; the answer lies in the question's range.
  void answer(double value, const QString& sure);
  /// A round of the rings further or back.
  void turn_round(int by);
  /// Whether the student's task is done, told and kept.
  bool check();
  /// Trains what the step asks for, as the knobs stand; returns at once. Nothing happens while
  /// something is trained.
  void run();
  /// Why run() would do nothing, as a sentence; empty: it would.
  QString why_no_run() const;
  /// What is to be done, what is under way or what came of it, of the step's run as things stand.
  QString run_words() const;
  /// The step's run has ended, as the knobs stand now.
  bool has_run() const { return !facts().empty(); }
  /// The step's run that is under way or was the last; null where something else was trained since.
  const RunModel* live() const;

  /// Where answers are kept; read now where it is there. Empty: nowhere. Throws Error{InvalidInput}
  /// where it holds something else.
  void keep_in(const QString& path);
  const QString& path() const { return path_; }
  void forget();
  /// A file for whoever collects them. Throws Error{Io}.
  void save_as(const QString& path, const QString& student);

  /// The answers of a class. Throws Error{InvalidInput}.
  void read_class_of(const QString& folder);
  const LessonClass& students() const { return students_; }
  /// Of this step's question; nothing before it is answered, or where nobody answered.
  std::optional<AnswerHistogram> histogram() const;

 Q_SIGNALS:
  void changed();   // step, settings, answers
  void computed();  // screen()

 private:
  void refresh();
  void keep();
  void end_run();
  /// Of the last run, where it is what the step asks for as things stand; else empty.
  LessonSettings facts() const;
  std::optional<LessonRun> wanted() const;

  std::shared_ptr<const LessonEngine> engine_;
  std::size_t lesson_ = 0, step_ = 0;
  LessonSettings settings_;
  std::vector<LessonSettings> undo_;
  int round_ = 3;
  LessonAnswers answers_;
  LessonClass students_;
  QString path_;
  LessonScreen screen_;
  TrainingSession* training_;
  bool starting_ = false, own_ = false;  // what is trained now or was the last is a lesson's
  std::optional<LessonRun> asked_;       // the last run of a lesson
  LessonSettings found_;                 // by it; empty before it has ended
  QString failed_;                       // why it has not
  Background background_;
};

}  // namespace trainyard

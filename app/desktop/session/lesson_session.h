// A LessonSession is a student's work in the lessons: the open step, the turned knobs, the answers.
// It does not touch the project. It computes on a thread of its own; views query it again when it
// emits a change.
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

/// Everything that is computed to show a step.
struct LessonScreen {
  std::vector<LessonPicture> pictures;
  QString prose, after;         // rich text
  std::optional<double> truth;  // of the question, in its unit
  bool passed = false;          // whether the task is passed as things stand
  QString wrong;                // what could not be computed; empty: nothing
};

class LessonSession : public QObject {
  Q_OBJECT

 public:
  /// training: the session for a step's run; null: none. It must outlive this object.
  explicit LessonSession(TrainingSession* training = nullptr, QObject* parent = nullptr);

  const Lesson& lesson() const { return engine_->lesson(); }
  std::size_t step() const { return step_; }
  const LessonStep& current() const { return lesson().steps[step_]; }
  const LessonSettings& settings() const { return settings_; }
  const LessonScreen& screen() const { return screen_; }
  const LessonAnswers& answers() const { return answers_; }
  /// The answer to this step's question; null if it has none yet.
  const LessonAnswer* answer() const;
  bool settled() const { return !background_.running(); }
  bool can_undo() const { return !undo_.empty(); }
  int round() const { return round_; }

  /// Both indices must be in range; the step's own settings are applied.
  void open(std::size_t lesson, std::size_t step);
  void go(std::size_t step) { open(lesson_, step); }
  std::size_t lesson_index() const { return lesson_; }
  /// Turns a knob that is free in this step; ignores other knobs.
  void turn(const std::string& key, const std::string& value);
  void apply(const LessonSettings&);
  void undo();
  /// Restores the step's initial settings; answers stay.
  void reset();
  /// May be called once per question; the value must be in the question's range.
  void answer(double value, const QString& sure);
  /// Steps the round of the ring collectives.
  void turn_round(int by);
  /// Checks whether the student's task is done; the result is shown and stored.
  bool check();
  /// Trains what the step asks for with the current knobs; returns at once. Does nothing while
  /// something is being trained.
  void run();
  /// Why run() would do nothing, as a sentence; empty if it would run.
  QString why_no_run() const;
  /// A sentence about the step's run: what to do, its progress or its result.
  QString run_words() const;
  /// Returns whether the step's run has ended with the current knobs.
  bool has_run() const { return !facts().empty(); }
  /// The step's current or last run; null if something else was trained since.
  const RunModel* live() const;

  /// Stores answers in this file, reading it first if it exists; an empty path stores nothing.
  /// Throws Error{InvalidInput} if the file holds something else.
  void keep_in(const QString& path);
  const QString& path() const { return path_; }
  void forget();
  /// Writes a file to be collected by a teacher. Throws Error{Io}.
  void save_as(const QString& path, const QString& student);

  /// Reads the answers of a class. Throws Error{InvalidInput}.
  void read_class_of(const QString& folder);
  const LessonClass& students() const { return students_; }
  /// The class's answers to this step's question; empty before the student has answered, or if
  /// nobody has.
  std::optional<AnswerHistogram> histogram() const;

 Q_SIGNALS:
  void changed();   // step, settings or answers changed
  void computed();  // screen() changed

 private:
  void refresh();
  void keep();
  void end_run();
  /// The results of the last run if it is the one that the step asks for now; otherwise empty.
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
  bool starting_ = false, own_ = false;  // whether the current or last training is a lesson's
  std::optional<LessonRun> asked_;       // the last run of a lesson
  LessonSettings found_;                 // its results; empty before it has ended
  QString failed_;                       // why it did not end
  Background background_;
};

}  // namespace trainyard

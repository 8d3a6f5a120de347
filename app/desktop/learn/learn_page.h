// The Learn perspective shows a lesson's text and question at the left, its pictures in the middle,
// and its steps and knobs at the right. It does not touch the student's project.
#pragma once

#include "app/desktop/controls/page.h"
#include "app/desktop/session/lesson_session.h"

class QCheckBox;
class QLabel;
class QPushButton;
class QVBoxLayout;

namespace trainyard {

class Actions;
class Field;
class LessonKnobs;
class LessonQuestionPanel;
class LessonScene;

class LearnPage : public Page {
  Q_OBJECT

 public:
  /// training: the session in which lessons train; null: lessons cannot train.
  explicit LearnPage(TrainingSession* training = nullptr, QWidget* parent = nullptr);

  QList<CanvasWidget*> canvases() const override { return {canvas_}; }
  bool settled() const override { return session_.settled(); }
  bool whole() const override { return true; }
  bool own_verdict() const override { return true; }
  QWidget* tools() override { return tools_; }
  QStringList readings() const override;
  std::optional<Drawing> picture() const override;

  LessonSession& session() { return session_; }
  LessonQuestionPanel& question() { return *question_; }
  LessonKnobs& knobs() { return *knobs_; }
  /// Opens a step: "3:4" is step 4 of lesson 3; "3" and "bubbles" are first steps. Throws
  /// Error{InvalidInput} that lists the lessons.
  void open(const QString& words);
  void next();
  void back();
  void set_projector(bool);
  /// Connects the commands of the menu Learn.
  void connect_commands(const Actions&);

 protected:
  void showEvent(QShowEvent*) override;
  void keyPressEvent(QKeyEvent*) override;
  void changeEvent(QEvent*) override;
  void resizeEvent(QResizeEvent*) override;

 private:
  QWidget* make_tools();
  QWidget* make_bar();
  QWidget* make_left();
  QWidget* make_right();
  void make_keys();
  void refresh();
  void refresh_text();
  void refresh_steps();
  void save_answers();
  void choose_class();

  LessonSession session_;
  QWidget *tools_, *left_, *right_;
  Field* chooser_;
  CanvasWidget* canvas_;
  LessonScene* scene_ = nullptr;  // owned by the canvas
  LessonQuestionPanel* question_;
  LessonKnobs* knobs_;
  QCheckBox* projector_;
  QLabel* motto_ = nullptr;
  QLabel *line_, *place_, *title_, *goal_, *prose_, *class_, *leaves_out_, *sources_;
  QPushButton *undo_, *back_, *next_;
  QVBoxLayout *buttons_, *steps_;
  QString built_;
  bool asked_ = false;  // whether the stored answers have been read
};

}  // namespace trainyard

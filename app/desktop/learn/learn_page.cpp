#include "app/desktop/learn/learn_page.h"

#include <QAction>
#include <QApplication>
#include <QCheckBox>
#include <QDir>
#include <QFileDialog>
#include <QHBoxLayout>
#include <QInputDialog>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QScrollArea>
#include <QShortcut>
#include <QStandardPaths>

#include <algorithm>

#include "app/desktop/controls/actions.h"
#include "app/desktop/controls/canvas_widget.h"
#include "app/desktop/controls/complaint.h"
#include "app/desktop/controls/icons.h"
#include "app/desktop/controls/text.h"
#include "app/desktop/controls/theme.h"
#include "app/desktop/controls/widgets.h"
#include "app/desktop/learn/lesson_knobs.h"
#include "app/desktop/learn/lesson_question.h"
#include "app/desktop/scene/lesson_scene.h"
#include "app/desktop/session/plan_words.h"
#include "core/lesson/lesson_text.h"

namespace trainyard {
namespace {

constexpr int kLeft = 392, kPanelWidth = 300;
constexpr double kProjector = 1.5;
constexpr int kNarrow = 1500;  // px; below it a projector's page has no right panel

QWidget* panel(int width) {
  auto* widget = new QWidget;
  widget->setObjectName("panel");
  widget->setAttribute(Qt::WA_StyledBackground);
  widget->setFixedWidth(width);
  return widget;
}

QLabel* wrapped(QLabel* label) {
  label->setWordWrap(true);
  return label;
}

void clear(QLayout* layout) {
  while (QLayoutItem* item = layout->takeAt(0)) {
    if (item->widget() != nullptr) item->widget()->deleteLater();
    delete item;
  }
}

QPushButton* text_button(const QString& text) {
  auto* made = new QPushButton(text);
  made->setAccessibleName(text);
  return made;
}

}  // namespace

LearnPage::LearnPage(TrainingSession* training, QWidget* parent)
    : Page(parent), session_(training) {
  setObjectName("page");
  setAttribute(Qt::WA_StyledBackground);
  setAccessibleName("Lesson");
  tools_ = make_tools();
  auto scene = std::make_unique<LessonScene>(session_);
  scene_ = scene.get();
  canvas_ = new CanvasWidget("Pictures of the step", std::move(scene));
  canvas_->setMinimumSize(360, 200);
  left_ = make_left();
  right_ = make_right();
  auto* row = new QHBoxLayout;
  row->setContentsMargins(0, 0, 0, 0);
  row->setSpacing(1);
  row->addWidget(left_);
  row->addWidget(canvas_, 1);
  row->addWidget(right_);
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(1);
  column->addWidget(make_bar());
  column->addLayout(row, 1);
  make_keys();
  if (training != nullptr)
    connect(training, &TrainingSession::changed, this, [this] {
      if (session_.live() == nullptr || !isVisible()) return;
      question_->refresh();
      canvas_->refresh();
    });
  connect(&session_, &LessonSession::changed, this, &LearnPage::refresh);
  connect(&session_, &LessonSession::computed, this, &LearnPage::refresh);
  refresh();
}

QWidget* LearnPage::make_tools() {
  // The page is the parent until the tool bar takes it.
  auto* tools = new QWidget(this);
  tools->hide();
  auto* row = new QHBoxLayout(tools);
  row->setContentsMargins(0, 0, 0, 0);
  row->setSpacing(8);
  row->addWidget(make_label("Lesson", 12, QFont::Normal, "second"));
  chooser_ = new Field("Lesson");
  chooser_->setFixedHeight(26);
  chooser_->setMinimumWidth(100);
  chooser_->setMaximumWidth(230);
  for (const Lesson& lesson : shipped_lessons())
    chooser_->addItem(QString("%1  %2").arg(lesson.number).arg(q(lesson.title)));
  row->addWidget(chooser_);
  motto_ = make_chip("predict before reveal", "plain");
  row->addWidget(motto_);
  connect(chooser_, &QComboBox::activated, this,
          [this](int lesson) { session_.open(static_cast<std::size_t>(lesson), 0); });
  return tools;
}

QWidget* LearnPage::make_bar() {
  auto* bar = new QWidget;
  bar->setObjectName("panel");
  bar->setAttribute(Qt::WA_StyledBackground);
  bar->setFixedHeight(kVerdictHeight);
  auto* row = new QHBoxLayout(bar);
  row->setContentsMargins(12, 0, 12, 0);
  row->setSpacing(8);
  row->addWidget(make_label("Practice plan", 12, QFont::DemiBold, "ok"));
  line_ = new ElidedLabel(12, "second");
  row->addWidget(line_, 1);
  projector_ = new QCheckBox("Projector size");
  projector_->setAccessibleName("Projector size");
  undo_ = text_button("Undo");
  auto* reset = text_button("Reset step");
  auto* again = text_button("Start lesson over");
  row->addWidget(projector_);
  row->addWidget(undo_);
  row->addWidget(reset);
  row->addWidget(again);
  connect(projector_, &QCheckBox::toggled, this, &LearnPage::set_projector);
  connect(undo_, &QPushButton::clicked, &session_, &LessonSession::undo);
  connect(reset, &QPushButton::clicked, &session_, &LessonSession::reset);
  connect(again, &QPushButton::clicked, &session_, &LessonSession::forget);
  return bar;
}

QWidget* LearnPage::make_left() {
  QWidget* left = panel(kLeft);
  auto* column = new QVBoxLayout(left);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  auto* header = new Header("Lesson");
  place_ = make_label("", 11, QFont::Normal, "second");
  header->row()->addWidget(place_);
  column->addWidget(header);
  auto* body = new QWidget;
  body->setObjectName("panel");
  body->setAttribute(Qt::WA_StyledBackground);
  auto* text = new QVBoxLayout(body);
  text->setContentsMargins(20, 16, 20, 12);
  text->setSpacing(10);
  title_ = wrapped(make_label("", 20, QFont::DemiBold));
  goal_ = wrapped(make_label("", 14, QFont::Normal, "second"));
  prose_ = wrapped(make_label("", 14, QFont::Normal));
  prose_->setTextFormat(Qt::RichText);
  prose_->setAccessibleName("What the step says");
  prose_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  auto* buttons = new QWidget;
  buttons_ = new QVBoxLayout(buttons);
  buttons_->setContentsMargins(0, 0, 0, 0);
  question_ = new LessonQuestionPanel(session_);
  for (QWidget* each : QList<QWidget*>{title_, goal_, prose_, buttons, question_})
    text->addWidget(each);
  text->addStretch(1);
  auto* scroll = new QScrollArea;
  scroll->setWidgetResizable(true);
  scroll->setFrameShape(QFrame::NoFrame);
  scroll->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  scroll->setAccessibleName("Text of the step");
  scroll->setWidget(body);
  column->addWidget(scroll, 1);
  auto* foot = new QWidget;
  auto* row = new QHBoxLayout(foot);
  row->setContentsMargins(20, 8, 20, 8);
  back_ = text_button("Back");
  next_ = text_button("Next step");
  back_->setToolTip("Page up");
  next_->setToolTip("Page down");
  row->addWidget(back_);
  row->addStretch(1);
  row->addWidget(make_label("answers stay on this computer", 11, QFont::Normal, "third"));
  row->addStretch(1);
  row->addWidget(next_);
  column->addWidget(foot);
  connect(back_, &QPushButton::clicked, this, &LearnPage::back);
  connect(next_, &QPushButton::clicked, this, &LearnPage::next);
  return left;
}

QWidget* LearnPage::make_right() {
  QWidget* right = panel(kPanelWidth);
  auto* column = new QVBoxLayout(right);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  const auto group = [&](const QString& title, QWidget* content) {
    column->addWidget(new Header(title));
    column->addWidget(content);
  };
  auto* steps = new QWidget;
  steps_ = new QVBoxLayout(steps);
  steps_->setContentsMargins(8, 6, 8, 6);
  steps_->setSpacing(0);
  group("Steps", steps);
  knobs_ = new LessonKnobs(session_);
  group("One knob", knobs_);
  auto* workshop = new QWidget;
  auto* work = new QVBoxLayout(workshop);
  work->setContentsMargins(12, 8, 12, 8);
  work->setSpacing(6);
  auto* save = text_button("Save answers…");
  auto* folder = text_button("Class answers…");
  auto* row = new QHBoxLayout;
  row->addWidget(save);
  row->addWidget(folder);
  row->addStretch(1);
  class_ = wrapped(make_label("", 12, QFont::Normal, "second"));
  work->addLayout(row);
  work->addWidget(class_);
  group("Workshop", workshop);
  connect(save, &QPushButton::clicked, this, &LearnPage::save_answers);
  connect(folder, &QPushButton::clicked, this, &LearnPage::choose_class);
  auto* keys = new QWidget;
  auto* key_column = new QVBoxLayout(keys);
  key_column->setContentsMargins(12, 8, 12, 8);
  key_column->setSpacing(5);
  for (const auto& [key, words] :
       {std::pair{"PgUp PgDn", "step before and after"}, std::pair{"1 to 9", "choose an answer"},
        std::pair{"Enter", "predict, lock in, check"},
        std::pair{"[ ]", "decrease and increase the free knob"},
        std::pair{"{ }", "the second free knob"},
        std::pair{", .", "previous and next round of the ring"}, std::pair{"U", "undo"}}) {
    auto* line = new QHBoxLayout;
    line->addWidget(make_key(key));
    line->addWidget(make_label(words, 12, QFont::Normal, "second"));
    line->addStretch(1);
    key_column->addLayout(line);
  }
  group("Keys", keys);
  leaves_out_ = wrapped(make_label("", 12, QFont::Normal, "second"));
  leaves_out_->setContentsMargins(12, 8, 12, 8);
  group("What this lesson leaves out", leaves_out_);
  sources_ = wrapped(make_label("", 11, QFont::Normal, "third"));
  sources_->setContentsMargins(12, 8, 12, 8);
  group("Sources", sources_);
  column->addStretch(1);
  auto* scroll = new QScrollArea;
  scroll->setWidgetResizable(true);
  scroll->setFrameShape(QFrame::NoFrame);
  scroll->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  scroll->setAccessibleName("Steps and knobs");
  right->setMinimumWidth(kPanelWidth - 12);
  right->setMaximumWidth(kPanelWidth);
  scroll->setWidget(right);
  scroll->setFixedWidth(kPanelWidth);
  return scroll;
}

// Keys that work wherever in the page the focus is, except in a text field, which takes them first.
void LearnPage::make_keys() {
  const auto key = [this](const QKeySequence& keys, auto act) {
    auto* shortcut = new QShortcut(keys, this);
    shortcut->setContext(Qt::WidgetWithChildrenShortcut);
    connect(shortcut, &QShortcut::activated, this, act);
  };
  key(Qt::Key_PageDown, [this] { next(); });
  key(Qt::Key_PageUp, [this] { back(); });
  key(Qt::Key_BracketLeft, [this] { knobs_->step_free(0, -1); });
  key(Qt::Key_BracketRight, [this] { knobs_->step_free(0, 1); });
  key(Qt::Key_BraceLeft, [this] { knobs_->step_free(1, -1); });
  key(Qt::Key_BraceRight, [this] { knobs_->step_free(1, 1); });
  key(Qt::Key_Comma, [this] { session_.turn_round(-1); });
  key(Qt::Key_Period, [this] { session_.turn_round(1); });
  key(Qt::Key_U, [this] { session_.undo(); });
  for (int n = 1; n <= 9; ++n)
    key(QKeySequence(static_cast<Qt::Key>(Qt::Key_0 + n)), [this, n] { question_->choose(n); });
}

// A field takes Enter first: it locks in, or commits what was typed.
void LearnPage::keyPressEvent(QKeyEvent* event) {
  const bool enter = event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter;
  if (!enter || qobject_cast<QLineEdit*>(QApplication::focusWidget()) != nullptr)
    return Page::keyPressEvent(event);
  question_->enter();
}

void LearnPage::connect_commands(const Actions& actions) {
  connect(actions["learn.next"], &QAction::triggered, this, &LearnPage::next);
  connect(actions["learn.back"], &QAction::triggered, this, &LearnPage::back);
  connect(actions["learn.reset"], &QAction::triggered, &session_, &LessonSession::reset);
  connect(actions["learn.answer"], &QAction::triggered, question_, &LessonQuestionPanel::lock_in);
  connect(actions["learn.run"], &QAction::triggered, &session_, &LessonSession::run);
  connect(actions["learn.projector"], &QAction::triggered, this, [this] { projector_->toggle(); });
  connect(actions["learn.save"], &QAction::triggered, this, &LearnPage::save_answers);
  connect(actions["learn.class"], &QAction::triggered, this, &LearnPage::choose_class);
}

std::optional<Drawing> LearnPage::picture() const {
  if (session_.screen().pictures.empty()) return std::nullopt;
  Drawing drawing(Size{1100, 900});
  draw_lesson_panels(drawing, {0, 8, 1100, 884}, session_.screen().pictures);
  return drawing;
}

void LearnPage::open(const QString& words) {
  const QStringList parts = words.split(':');
  const Lesson wanted = open_lesson(parts[0].toStdString());
  std::size_t index = shipped_lessons().size();
  for (std::size_t i = 0; i < shipped_lessons().size(); ++i)
    if (shipped_lessons()[i].name == wanted.name) index = i;
  bool number = true;
  const int step = parts.size() > 1 ? parts[1].toInt(&number) : 1;
  if (index == shipped_lessons().size() || parts.size() > 2 || !number || step < 1 ||
      step > static_cast<int>(wanted.steps.size()))
    throw Error(Error::Kind::InvalidInput,
                "expected a lesson and its step as 3:4, steps 1 to " +
                    std::to_string(wanted.steps.size()) + ", found \"" + words.toStdString() + "\"",
                {"--lesson"});
  session_.open(index, static_cast<std::size_t>(step - 1));
}

void LearnPage::next() {
  if (session_.step() + 1 < session_.lesson().steps.size())
    session_.go(session_.step() + 1);
  else if (session_.lesson_index() + 1 < shipped_lessons().size())
    session_.open(session_.lesson_index() + 1, 0);
}

void LearnPage::back() {
  if (session_.step() > 0) session_.go(session_.step() - 1);
}

void LearnPage::set_projector(bool on) {
  const double large = on ? kProjector : 1;
  scene_->set_large(static_cast<float>(large));
  question_->set_large(large);
  title_->setFont(ui_font(20 * large, QFont::DemiBold));
  for (QLabel* each : {goal_, prose_}) each->setFont(ui_font(14 * large));
  left_->setFixedWidth(on ? kLeft + 108 : kLeft);
  right_->setVisible(!on || width() >= kNarrow);
  projector_->setChecked(on);
  canvas_->refresh();
  refresh();
}

// The user's answers are read only when the page is shown.
void LearnPage::showEvent(QShowEvent* event) {
  Page::showEvent(event);
  if (asked_) return;
  asked_ = true;
  if (!session_.path().isEmpty() || QStandardPaths::isTestModeEnabled()) return;
  const QString folder = QStandardPaths::writableLocation(QStandardPaths::AppDataLocation);
  if (folder.isEmpty()) return;
  try {
    QDir().mkpath(folder);
    session_.keep_in(folder + "/answers.json");
  } catch (const Error&) {
    // The file belongs to another program: nothing is stored in it, and it stays unchanged.
  }
}

void LearnPage::changeEvent(QEvent* event) {
  Page::changeEvent(event);
  // The tool bar has no room for it at a projector's scale.
  if (event->type() == QEvent::StyleChange && motto_ != nullptr)
    motto_->setVisible(ui_scale() == 1);
}

void LearnPage::resizeEvent(QResizeEvent* event) {
  Page::resizeEvent(event);
  right_->setVisible(!projector_->isChecked() || width() >= kNarrow);
}

void LearnPage::refresh() {
  const QString before = built_;
  const Lesson& lesson = session_.lesson();
  chooser_->setCurrentIndex(static_cast<int>(session_.lesson_index()));
  place_->setText(QString("%1 min, step %2 of %3")
                      .arg(lesson.minutes)
                      .arg(session_.step() + 1)
                      .arg(lesson.steps.size()));
  QStringList settings;  // in words, where the lesson's file has keys
  for (const auto& [key, value] : session_.settings())
    settings << setting_title(key) + " " + q(value);
  line_->setText(settings.join(", ") + "; your own project is untouched");
  undo_->setEnabled(session_.can_undo());
  back_->setEnabled(session_.step() > 0);
  const bool last = session_.step() + 1 == lesson.steps.size();
  next_->setText(last ? "Next lesson" : "Next step");
  next_->setEnabled(!last || session_.lesson_index() + 1 < shipped_lessons().size());
  refresh_text();
  refresh_steps();
  knobs_->refresh();
  const bool asked = question_->isAncestorOf(QApplication::focusWidget());
  question_->refresh();
  // The page's keys need the focus in the page, but the field that had it may be deleted or locked.
  const bool gone = asked && (built_ != before || session_.answer() != nullptr);
  if (isActiveWindow() && (gone || QApplication::focusWidget() == nullptr)) setFocus();
  canvas_->refresh();
  Q_EMIT readings_changed();
}

QStringList LearnPage::readings() const {
  const Lesson& lesson = session_.lesson();
  int asked = 0, answered = 0;
  for (const LessonStep& step : lesson.steps) {
    if (!step.question) continue;
    ++asked;
    if (find_answer(session_.answers(), lesson.number, step.question->id) != nullptr) ++answered;
  }
  return {QString("lesson <b>%1</b> of %2").arg(lesson.number).arg(shipped_lessons().size()),
          QString("step <b>%1</b> of %2").arg(session_.step() + 1).arg(lesson.steps.size()),
          QString("<b>%1</b> of %2 predicted").arg(answered).arg(asked)};
}

void LearnPage::refresh_text() {
  const Lesson& lesson = session_.lesson();
  const LessonStep& step = session_.current();
  title_->setText(q(step.title));
  goal_->setText(q(lesson.goal));
  const LessonScreen& screen = session_.screen();
  prose_->setText(screen.wrong.isEmpty() ? screen.prose : screen.wrong.toHtmlEscaped());
  const std::size_t students = session_.students().students.size();
  class_->setText(students == 0 ? QString("No class is open: choose a folder of answers.")
                  : session_.histogram()
                      ? QString("%1 students, below the pictures.").arg(students)
                      : QString("%1 students; shown after reveal.").arg(students));
  leaves_out_->setText(q(lesson.leaves_out));
  QString sources;
  for (const LessonSource& each : lesson.sources)
    sources += (sources.isEmpty() ? "" : "\n") + q(each.citation);
  sources_->setText(sources);
  const QString now = QString("%1:%2").arg(session_.lesson_index()).arg(session_.step());
  if (built_ == now) return;
  built_ = now;
  clear(buttons_);
  for (const LessonStep::Button& each : step.buttons) {
    auto* made = text_button("Show me: " + q(each.words));
    connect(made, &QPushButton::clicked, this, [this, set = each.set] { session_.apply(set); });
    buttons_->addWidget(made, 0, Qt::AlignLeft);
  }
}

void LearnPage::refresh_steps() {
  const Lesson& lesson = session_.lesson();
  if (steps_->count() != static_cast<int>(lesson.steps.size()) ||
      steps_->parentWidget()->property("lesson").toInt() != lesson.number) {
    clear(steps_);
    steps_->parentWidget()->setProperty("lesson", lesson.number);
    for (std::size_t i = 0; i < lesson.steps.size(); ++i) {
      auto* row = text_button(QString("%1  %2").arg(i + 1).arg(q(lesson.steps[i].title)));
      row->setProperty("kind", "step");
      row->setFlat(true);
      connect(row, &QPushButton::clicked, this, [this, i] { session_.go(i); });
      steps_->addWidget(row);
    }
  }
  const int seen = seen_step(session_.answers(), lesson.number);
  for (int i = 0; i < steps_->count(); ++i) {
    auto* row = qobject_cast<QPushButton*>(steps_->itemAt(i)->widget());
    const bool here = i == static_cast<int>(session_.step());
    const LessonStep& step = lesson.steps[static_cast<std::size_t>(i)];
    const bool done =
        step.question ? find_answer(session_.answers(), lesson.number, step.question->id) != nullptr
                      : i < seen && !here;
    row->setIcon(icon(here   ? "chevron-right"
                      : done ? "check"
                             : "minus",
                      qcolor(here   ? Ink::Text
                             : done ? Ink::Ok
                                    : Ink::Text3,
                             current_theme())));
    QFont font = ui_font(12, here ? QFont::DemiBold : QFont::Normal);
    row->setFont(font);
    row->setAccessibleDescription(here ? "this step" : done ? "done" : "not done yet");
  }
}

void LearnPage::save_answers() {
  bool named = false;
  const QString student =
      QInputDialog::getText(this, "Save answers", "Your name, as the lecturer knows you",
                            QLineEdit::Normal, q(session_.answers().student), &named);
  if (!named) return;
  const QString path = QFileDialog::getSaveFileName(
      this, "Save answers", student.simplified().replace(' ', '-') + ".json", "Answers (*.json)");
  if (path.isEmpty()) return;
  try {
    session_.save_as(path, student);
  } catch (const Error& error) {
    complain(this, "The answers were not saved", q(describe(error)));
  }
}

void LearnPage::choose_class() {
  const QString folder = QFileDialog::getExistingDirectory(this, "Folder of answers");
  if (folder.isEmpty()) return;
  try {
    session_.read_class_of(folder);
  } catch (const Error& error) {
    complain(this, "The class answers were not read", q(describe(error)));
  }
}

}  // namespace trainyard

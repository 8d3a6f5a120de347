#include "app/desktop/learn/lesson_question.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QVBoxLayout>

#include "app/desktop/controls/text.h"
#include "app/desktop/controls/theme.h"
#include "app/desktop/controls/widgets.h"

namespace trainyard {
namespace {

QString told(double value, const LessonUnit& unit) {
  const QString digits = q(digits_in_unit(value, unit));
  return unit.name.empty() ? digits : digits + " " + q(std::string(unit.name));
}

const QStringList kSure = {"guess", "fairly", "certain"};

}  // namespace

LessonQuestionPanel::LessonQuestionPanel(LessonSession& session, QWidget* parent)
    : QWidget(parent), session_(session) {
  column_ = new QVBoxLayout(this);
  column_->setContentsMargins(0, 0, 0, 0);
  column_->setSpacing(8);
}

QLabel* LessonQuestionPanel::line(const QString& text, double pixels, int weight,
                                  const char* tone) {
  QLabel* label = make_label(text, pixels * large_, static_cast<QFont::Weight>(weight), tone);
  label->setWordWrap(true);
  label->setTextFormat(Qt::RichText);
  column_->addWidget(label);
  return label;
}

void LessonQuestionPanel::set_large(double large) {
  large_ = large;
  built_.clear();
}

void LessonQuestionPanel::rebuild() {
  while (QLayoutItem* item = column_->takeAt(0)) {
    if (item->widget() != nullptr) item->widget()->deleteLater();
    delete item;
  }
  edit_ = nullptr, sure_ = nullptr, lock_ = nullptr, check_ = nullptr;
  run_ = nullptr, run_words_ = nullptr;
  result_ = after_ = hint_ = told_ = nullptr;
  choices_.clear();
  const LessonStep& step = session_.current();
  if (step.question) {
    const LessonQuestion& question = *step.question;
    line("Predict first", 15, QFont::DemiBold, "");
    line(q(question.words).toHtmlEscaped(), 14, QFont::Normal, "");
    for (std::size_t i = 0; i < question.choices.size(); ++i) {
      const LessonQuestion::Choice& choice = question.choices[i];
      auto* button = new QPushButton(QString("%1   %2").arg(i + 1).arg(q(choice.words)));
      button->setProperty("kind", "choice");
      button->setFont(ui_font(13 * large_));
      button->setCheckable(true);
      button->setAccessibleName(q(choice.words));
      connect(button, &QPushButton::clicked, this, [this, i] { choose(static_cast<int>(i) + 1); });
      choices_ << button;
      column_->addWidget(button);
    }
    auto* entry = new QWidget;
    auto* row = new QHBoxLayout(entry);
    row->setContentsMargins(0, 0, 0, 0);
    edit_ = new QLineEdit;
    edit_->setAccessibleName("Your prediction");
    edit_->setFont(ui_font(14 * large_));
    edit_->setFixedWidth(ui_pixels(110 * large_));
    edit_->setPlaceholderText("your guess");
    row->addWidget(edit_);
    row->addWidget(make_label(q(std::string(question.unit.name)), 14 * large_, QFont::DemiBold));
    row->addWidget(make_label(
        QString("%1 to %2").arg(told(question.low, {}), told(question.high, question.unit)),
        12 * large_, QFont::Normal, "third"));
    row->addStretch(1);
    column_->addWidget(entry);
    connect(edit_, &QLineEdit::returnPressed, this, &LessonQuestionPanel::lock_in);
    auto* sureness = new QWidget;
    auto* sure_row = new QHBoxLayout(sureness);
    sure_row->setContentsMargins(0, 0, 0, 0);
    sure_row->addWidget(make_label("How sure?", 12 * large_, QFont::Normal, "second"));
    sure_ = new Segment("How sure", kSure);
    sure_->set_current(1);
    sure_row->addWidget(sure_);
    sure_row->addStretch(1);
    column_->addWidget(sureness);
    auto* buttons = new QWidget;
    auto* button_row = new QHBoxLayout(buttons);
    button_row->setContentsMargins(0, 0, 0, 0);
    lock_ = new QPushButton("Lock in and reveal");
    lock_->setProperty("kind", "primary");
    lock_->setAccessibleName("Lock in and reveal");
    button_row->addWidget(lock_);
    button_row->addWidget(make_key("Enter"));
    connect(lock_, &QPushButton::clicked, this, &LessonQuestionPanel::lock_in);
    if (!question.hint.empty()) {
      auto* hint = new QPushButton("Hint");
      hint->setAccessibleName("Hint");
      button_row->addWidget(hint);
      connect(hint, &QPushButton::clicked, this,
              [this] { hint_->setVisible(!hint_->isVisibleTo(this)); });
    }
    button_row->addStretch(1);
    column_->addWidget(buttons);
    hint_ = line(q(question.hint).toHtmlEscaped(), 13, QFont::Normal, "second");
    hint_->hide();
    told_ = line("", 13, QFont::Normal, "error");
    result_ = line("", 14, QFont::DemiBold, "");
    after_ = line("", 14, QFont::Normal, "");
  }
  if (step.run) {
    run_ = new QPushButton(q(step.run->words));
    run_->setAccessibleName(q(step.run->words));
    connect(run_, &QPushButton::clicked, &session_, &LessonSession::run);
    column_->addWidget(run_, 0, Qt::AlignLeft);
    run_words_ = line("", 14, QFont::Normal, "second");
  }
  if (step.check) {
    line("Your own plan", 15, QFont::DemiBold, "");
    line(q(step.check->words).toHtmlEscaped(), 14, QFont::Normal, "");
    check_ = new QPushButton("Check my plan");
    check_->setProperty("kind", "primary");
    check_->setAccessibleName("Check my plan");
    connect(check_, &QPushButton::clicked, this, &LessonQuestionPanel::lock_in);
    column_->addWidget(check_, 0, Qt::AlignLeft);
    told_ = line("", 14, QFont::DemiBold, "");
  }
}

void LessonQuestionPanel::refresh() {
  const QString now = QString("%1:%2").arg(session_.lesson_index()).arg(session_.step());
  if (built_ != now) {
    rebuild();
    built_ = now;
  }
  if (session_.current().question) refresh_answer();
  if (run_ != nullptr) refresh_run();
  if (session_.current().check && told_ != nullptr && !session_.settled()) told_->clear();
}

void LessonQuestionPanel::refresh_answer() {
  const LessonQuestion& question = *session_.current().question;
  const LessonAnswer* answer = session_.answer();
  for (QWidget* each : QList<QWidget*>{edit_, sure_, lock_}) each->setEnabled(answer == nullptr);
  for (qsizetype i = 0; i < choices_.size(); ++i) {
    choices_[i]->setEnabled(answer == nullptr);
    if (answer != nullptr)
      choices_[i]->setChecked(question.choices[static_cast<std::size_t>(i)].value == answer->value);
  }
  result_->setVisible(answer != nullptr);
  after_->setVisible(answer != nullptr);
  if (answer == nullptr) return;
  edit_->setText(q(digits_in_unit(answer->value, question.unit)));
  const AnswerMark mark = mark_answer(question, answer->value, answer->truth);
  const char* word = mark == AnswerMark::Right  ? "right"
                     : mark == AnswerMark::Near ? "near"
                                                : "off";
  QString text =
      QString("You said %1, it is %2: %3.")
          .arg(told(answer->value, question.unit), told(answer->truth, question.unit), word);
  if (const Misconception* found =
          trapped(session_.lesson(), question, answer->value, answer->truth))
    text += "<br>Often believed: " + q(found->belief).toHtmlEscaped() + ".";
  result_->setText(text);
  set_tone(result_, mark == AnswerMark::Right ? "ok" : mark == AnswerMark::Near ? "warn" : "error");
  after_->setText(session_.screen().after);
}

void LessonQuestionPanel::refresh_run() {
  const QString why = session_.why_no_run();
  run_->setEnabled(why.isEmpty());
  run_->setToolTip(why.isEmpty() ? QString("On this machine, in the background") : why);
  run_words_->setText(session_.run_words().toHtmlEscaped());
}

void LessonQuestionPanel::choose(int choice) {
  if (choice < 1 || choice > choices_.size() || session_.answer() != nullptr) return;
  for (qsizetype i = 0; i < choices_.size(); ++i) choices_[i]->setChecked(i + 1 == choice);
  const LessonQuestion& question = *session_.current().question;
  edit_->setText(
      q(digits_in_unit(question.choices[static_cast<std::size_t>(choice - 1)].value, {})));
}

void LessonQuestionPanel::lock_in() {
  if (check_ != nullptr) {
    const bool passed = session_.check();
    const bool unrun = session_.current().run && !session_.has_run();
    told_->setText(passed  ? q(session_.current().check->praise).toHtmlEscaped()
                   : unrun ? session_.run_words().toHtmlEscaped()
                           : "Not yet: turn the free knobs and look at the picture.");
    set_tone(told_, passed ? "ok" : "warn");
    return;
  }
  if (edit_ == nullptr || session_.answer() != nullptr) return;
  const LessonQuestion& question = *session_.current().question;
  bool number = false;
  const double value = edit_->text().trimmed().replace(',', '.').toDouble(&number);
  if (!number || !(value >= question.low && value <= question.high)) {
    told_->setText(QString("Expected a number from %1 to %2, found \"%3\".")
                       .arg(told(question.low, {}), told(question.high, question.unit),
                            edit_->text().toHtmlEscaped()));
    edit_->setFocus();
    return;
  }
  told_->clear();
  session_.answer(value, kSure.value(sure_->current()));
}

void LessonQuestionPanel::enter() {
  const bool unsaid = edit_ != nullptr && edit_->isEnabled() && edit_->text().isEmpty();
  if (unsaid)
    edit_->setFocus();
  else if (run_ != nullptr && !session_.has_run() && session_.why_no_run().isEmpty())
    session_.run();
  else
    lock_in();
}

}  // namespace trainyard

#include "app/desktop/session/lesson_session.h"

#include <QFileInfo>

#include <algorithm>

#include "app/workspace/lessons/lesson_run.h"
#include "core/io/bytes/file_writer.h"
#include "core/io/bytes/files.h"
#include "core/io/bytes/limits.h"
#include "core/lesson/lesson_text.h"

namespace trainyard {
namespace {

// Numbers are emphasised.
QString rich(const LessonEngine& engine, const std::vector<LessonText>& texts,
             const LessonSettings& settings) {
  QString all;
  for (const LessonText& text : texts) {
    QString paragraph;
    for (const LessonText::Piece& piece : text.pieces) {
      paragraph += QString::fromStdString(piece.words).toHtmlEscaped();
      if (!piece.value) continue;
      LessonText alone;
      alone.pieces = {{"", piece.value, piece.unit}};
      paragraph +=
          "<b>" + QString::fromStdString(engine.text(alone, settings)).toHtmlEscaped() + "</b>";
    }
    all += "<p>" + paragraph + "</p>";
  }
  return all;
}

LessonScreen compute(const LessonEngine& engine, const LessonLook& look) {
  LessonScreen screen;
  const LessonStep& step = engine.lesson().steps[look.step];
  screen.pictures = lesson_pictures(engine, look);
  try {
    screen.prose = rich(engine, step.prose, look.settings);
    if (step.question) screen.truth = engine.truth(look.step);
    if (look.revealed) screen.after = rich(engine, step.after, look.settings);
    if (step.check) screen.passed = engine.value(step.check->passes, look.settings) != 0;
  } catch (const Error& error) {
    screen.wrong = QString::fromStdString(describe(error));
  }
  return screen;
}

}  // namespace

LessonSession::LessonSession(TrainingSession* training, QObject* parent)
    : QObject(parent), training_(training), background_(this) {
  if (training_ != nullptr) {
    connect(training_, &TrainingSession::started, this, [this] {
      own_ = starting_;
      Q_EMIT changed();
    });
    connect(training_, &TrainingSession::finished, this, &LessonSession::end_run);
  }
  engine_ = std::make_shared<const LessonEngine>(shipped_lessons()[0]);
  settings_ = settings_of(lesson(), 0);
}

const LessonAnswer* LessonSession::answer() const {
  if (!current().question) return nullptr;
  return find_answer(answers_, lesson().number, current().question->id);
}

void LessonSession::open(std::size_t number, std::size_t step) {
  if (number != lesson_) engine_ = std::make_shared<const LessonEngine>(shipped_lessons()[number]);
  lesson_ = number;
  step_ = std::min(step, lesson().steps.size() - 1);
  settings_ = settings_of(lesson(), step_);
  undo_.clear();
  keep_progress(answers_, lesson().number, static_cast<int>(step_) + 1, false);
  keep();
  refresh();
}

void LessonSession::turn(const std::string& key, const std::string& value) {
  const std::vector<std::string>& free = current().free;
  const LessonKnob* knob = find_knob(lesson(), key);
  if (knob == nullptr || std::find(free.begin(), free.end(), key) == free.end()) return;
  if (std::find(knob->values.begin(), knob->values.end(), value) == knob->values.end()) return;
  apply({{key, value}});
}

void LessonSession::apply(const LessonSettings& changes) {
  LessonSettings next = with_settings(settings_, changes);
  if (next == settings_) return;
  undo_.push_back(settings_);
  settings_ = std::move(next);
  refresh();
}

void LessonSession::undo() {
  if (undo_.empty()) return;
  settings_ = std::move(undo_.back());
  undo_.pop_back();
  refresh();
}

void LessonSession::reset() { apply(settings_of(lesson(), step_)); }

void LessonSession::answer(double value, const QString& sure) {
  if (!current().question || answer() != nullptr || !screen_.truth) return;
  const LessonQuestion& question = *current().question;
  if (!(value >= question.low && value <= question.high)) return;
  keep_answer(answers_, {lesson().number, question.id, std::string(question.unit.name), value,
                         *screen_.truth, sure.toStdString()});
  keep();
  refresh();
}

void LessonSession::turn_round(int by) {
  round_ = std::clamp(round_ + by, 0, 254);
  refresh();
}

bool LessonSession::check() {
  if (screen_.passed) {
    keep_progress(answers_, lesson().number, static_cast<int>(step_) + 1, true);
    keep();
  }
  return screen_.passed;
}

std::optional<LessonRun> LessonSession::wanted() const {
  if (!current().run) return {};
  return filled(*current().run, settings_);
}

LessonSettings LessonSession::facts() const {
  return asked_ && wanted() == asked_ ? found_ : LessonSettings{};
}

QString LessonSession::why_no_run() const {
  if (!current().run) return "This step asks for no run.";
  if (training_ == nullptr) return "There is nothing here that trains.";
  if (!training_->running()) return {};
  return own_ ? "The run is under way." : "Something else is trained now: wait for its end.";
}

void LessonSession::run() {
  if (!why_no_run().isEmpty()) return;
  asked_ = wanted();
  found_.clear(), failed_.clear();
  TrainingWish wish;
  wish.request = run_request(*asked_);
  wish.training = asked_->training;
  wish.steps = asked_->steps;
  wish.data = asked_->data;
  starting_ = true;
  training_->start(wish);
  starting_ = false;
  refresh();
}

void LessonSession::end_run() {
  if (!own_ || !asked_) return Q_EMIT changed();
  if (training_->report() != nullptr)
    found_ = run_facts(*training_->report(), *asked_);
  else
    failed_ = QString::fromStdString(training_->model().status);
  refresh();
}

const RunModel* LessonSession::live() const {
  return own_ && asked_ && wanted() == asked_ ? &training_->model() : nullptr;
}

QString LessonSession::run_words() const {
  const std::optional<LessonRun> run = wanted();
  if (!run) return {};
  if (const LessonSettings found = facts(); !found.empty())
    return QString::fromStdString(run_facts_text(found));
  if (live() != nullptr && live()->running)
    return "Training here: " + QString::fromStdString(live()->status) + ".";
  if (run == asked_ && !failed_.isEmpty()) return "It could not be trained: " + failed_;
  if (const QString why = why_no_run(); !why.isEmpty()) return why;
  return QString("Not trained yet: press \u201C%1\u201D and wait some seconds.")
      .arg(QString::fromStdString(run->words));
}

void LessonSession::keep_in(const QString& path) {
  path_.clear();
  if (QFileInfo::exists(path))
    answers_ = parse_answers(read_file(path.toStdString(), kLargestAnswers), path.toStdString());
  path_ = path;
  refresh();
}

// Answers that cannot be stored are not lost: they can still be saved elsewhere.
void LessonSession::keep() {
  if (path_.isEmpty()) return;
  try {
    write_file_atomically(path_.toStdString(), answers_document(answers_));
  } catch (const Error&) {
    path_.clear();
  }
}

void LessonSession::forget() {
  forget_answers(answers_, lesson().number);
  go(0);
}

void LessonSession::save_as(const QString& path, const QString& student) {
  LessonAnswers copy = answers_;
  copy.student = student.toStdString();
  write_file_atomically(path.toStdString(), answers_document(copy));
}

void LessonSession::read_class_of(const QString& folder) {
  students_ = read_class(folder.toStdString());
  Q_EMIT changed();
}

std::optional<AnswerHistogram> LessonSession::histogram() const {
  if (answer() == nullptr) return std::nullopt;
  for (AnswerHistogram& each : histograms(students_, {lesson()}))
    if (each.question == current().question->id) return std::move(each);
  return std::nullopt;
}

void LessonSession::refresh() {
  LessonLook look;
  look.step = step_;
  look.settings = with_settings(settings_, facts());
  look.revealed = answer() != nullptr;
  if (look.revealed) look.answer = answer()->value;
  look.round = round_;
  background_.ask([engine = engine_, look](const std::stop_token&,
                                           const auto&) { return compute(*engine, look); },
                  [this](LessonScreen screen) {
                    screen_ = std::move(screen);
                    Q_EMIT computed();
                  });
  Q_EMIT changed();
}

}  // namespace trainyard

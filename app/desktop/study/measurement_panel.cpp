#include "app/desktop/study/measurement_panel.h"

#include <QLabel>
#include <QProgressBar>
#include <QPushButton>
#include <QVBoxLayout>

#include <algorithm>
#include <utility>

#include "app/desktop/controls/checked_field.h"
#include "app/desktop/controls/text.h"
#include "app/desktop/controls/theme.h"
#include "app/desktop/controls/training_fields.h"
#include "app/desktop/controls/word_list.h"
#include "core/io/json/inline_document.h"

namespace trainyard {
namespace {

constexpr int kPanelWidth = 268;

}  // namespace

MeasurementPanel::MeasurementPanel(const Words& words, Document& document,
                                   const BackgroundMeasurement& measurement, QWidget* parent)
    : QuestionPanel(words, kPanelWidth, parent), document_(document), measurement_(measurement) {
  connect(&measurement_, &BackgroundMeasurement::changed, this, [this] { refresh_progress(); });
}

QVBoxLayout* MeasurementPanel::begin_fields(const QString& about) {
  auto* inside = new QWidget;
  auto* column = new QVBoxLayout(inside);
  column->setContentsMargins(10, 6, 10, 8);
  column->setSpacing(10);
  auto* sentence = make_label(about, 11, QFont::Normal, "third");
  sentence->setWordWrap(true);
  column->addWidget(sentence);
  set_fields(inside);
  return column;
}

void MeasurementPanel::add_data(QVBoxLayout* column, Field* data) {
  data->setFixedSize(124, kFieldHeight);
  auto* row = new QHBoxLayout;
  row->addWidget(make_label("Data", 12, QFont::Normal, "second"));
  row->addStretch(1);
  row->addWidget(data);
  column->addLayout(row);
}

void MeasurementPanel::follow(WordList* words, std::vector<CheckedField*> fields) {
  words_ = words, fields_ = std::move(fields);
  if (words_ != nullptr) connect(words_, &WordList::changed, this, &MeasurementPanel::note_change);
  for (const CheckedField* field : fields_)
    connect(field, &CheckedField::changed, this, &MeasurementPanel::note_change);
}

void MeasurementPanel::note_change() {
  refresh_progress();
  Q_EMIT changed();
}

bool MeasurementPanel::fields_hold() const {
  return std::all_of(fields_.begin(), fields_.end(),
                     [](const CheckedField* field) { return field->refusal().isEmpty(); });
}

std::optional<Request> MeasurementPanel::open_plan() const {
  const ProjectPlan* const plan = document_.plan();
  if (plan == nullptr || document_.project().model.empty() || !fields_hold()) return std::nullopt;
  Request request = request_of(document_.project(), *plan);
  request.calibration.clear();
  return request;
}

QString MeasurementPanel::missing() const {
  if (document_.project().model.empty() || document_.plan() == nullptr)
    return "Open a model and a plan first.";
  return wrong_field();
}

QString MeasurementPanel::wrong_field() const {
  return fields_hold() ? "" : "A field below is wrong; the sentence under it says how.";
}

QString MeasurementPanel::subject() const {
  const std::string& model = document_.project().model;
  return model.empty() ? QString("No model") : verbs().of + " " + q(word_title(model));
}

bool MeasurementPanel::commit() {
  if (words_ != nullptr) words_->refuse({});
  const bool whole = words_ == nullptr || words_->commit();
  for (CheckedField* field : fields_) field->check();
  return whole && missing().isEmpty();
}

void MeasurementPanel::refresh() { note_change(); }

void MeasurementPanel::refresh_progress() {
  const bool running = measurement_.running(), before = measurement_.answered();
  const QString wrong = running ? QString() : missing();
  const Verbs words = verbs();
  show_run(running,
           running  ? "Stop"
           : before ? words.again
                    : words.start,
           running ? words.stop_name : words.start_name, "play");
  run_->setEnabled(running || wrong.isEmpty());
  state_->setText(running ? "running" : before ? "done" : "");
  bar_->setRange(0, 100);
  bar_->setValue(static_cast<int>(100 * measurement_.progress()));
  now_->hide();
  count_->setText(subject());
  show_wrong(!wrong.isEmpty() || running ? wrong : q(measurement_.error()));
}

}  // namespace trainyard

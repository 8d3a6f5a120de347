#include "app/desktop/analyse/sharpness_panel.h"

#include <QComboBox>
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
#include "app/workspace/runs/sharpness_chart.h"
#include "core/base/error.h"
#include "core/base/number_text.h"
#include "core/io/json/inline_document.h"

namespace trainyard {
namespace {

constexpr double kLeastDifference = 1e-9, kMostDifference = 0.1;

double difference_of(const std::string& typed) {
  const auto value = number_of<double>(typed);
  if (!value || !(*value >= kLeastDifference && *value <= kMostDifference))
    refuse("expected a number from 1e-09 to 0.1, found \"" + typed.substr(0, 40) + "\"");
  return *value;
}

}  // namespace

SharpnessPanel::SharpnessPanel(Document& document, const SharpnessMeasurement& measurement,
                               QWidget* parent)
    : QuestionPanel({"Sharpness", "What is measured", "Share of the measurement done",
                     "Why nothing is measured", "Question about sharpness"},
                    268, parent),
      document_(document),
      measurement_(measurement) {
  set_fields(make_question());
  connect(&measurement_, &BackgroundMeasurement::changed, this, &SharpnessPanel::refresh_progress);
  const auto changed = [this] {
    refresh_progress();
    Q_EMIT this->changed();
  };
  connect(data_, &QComboBox::currentIndexChanged, this, changed);
  connect(training_, &WordList::changed, this, changed);
  for (const CheckedField* field : {steps_, products_, difference_})
    connect(field, &CheckedField::changed, this, changed);
  refresh();
}

QWidget* SharpnessPanel::make_question() {
  auto* inside = new QWidget;
  auto* column = new QVBoxLayout(inside);
  column->setContentsMargins(10, 6, 10, 8);
  column->setSpacing(10);
  auto* about = make_label(
      "Gradients of the open plan's loss are computed here, on the samples of its first update. "
      "Differences of them give the largest eigenvalue of the Hessian, which bounds the rate at "
      "which training is stable.",
      11, QFont::Normal, "third");
  about->setWordWrap(true);
  column->addWidget(about);
  data_ = make_data_field("Data of the loss");
  data_->setFixedSize(124, kFieldHeight);
  auto* row = new QHBoxLayout;
  row->addWidget(make_label("Data", 12, QFont::Normal, "second"));
  row->addStretch(1);
  row->addWidget(data_);
  column->addLayout(row);
  const SharpnessQuestion usual;
  steps_ = new CheckedField(
      {"Updates trained before", QString::number(usual.steps), whole_check(0, 1'000'000), 88});
  steps_->setToolTip("0: at the weights with which training begins.");
  products_ = new CheckedField({"Products, at most", QString::number(usual.options.most_products),
                                whole_check(1, 100'000), 88});
  products_->setToolTip("Products of the Hessian with a vector; each takes two gradients.");
  difference_ =
      new CheckedField({"Length of a difference", QString::number(usual.options.difference),
                        [](const std::string& typed) { difference_of(typed); }, 88});
  difference_->setToolTip(
      "How far apart two gradients are, as a share of the length of the weights. A shorter one "
      "meets fewer bends of ReLUs; a much shorter one is rounding.");
  for (CheckedField* field : {steps_, products_, difference_}) column->addWidget(field);
  training_ = make_training_list();
  column->addWidget(training_);
  column->addStretch(1);
  return inside;
}

std::optional<Request> SharpnessPanel::request() const {
  const std::initializer_list<const CheckedField*> fields = {steps_, products_, difference_};
  const ProjectPlan* const plan = document_.plan();
  if (plan == nullptr || document_.project().model.empty() ||
      !std::all_of(fields.begin(), fields.end(),
                   [](const CheckedField* field) { return field->refusal().isEmpty(); }))
    return std::nullopt;
  Request request = request_of(document_.project(), *plan);
  request.calibration.clear();
  return request;
}

SharpnessQuestion SharpnessPanel::question() const {
  SharpnessQuestion asked;
  asked.data = data_in(*data_);
  asked.steps = whole_or(*steps_, asked.steps);
  asked.options.most_products = static_cast<int>(whole_or(*products_, asked.options.most_products));
  if (const std::string typed = difference_->text(); !typed.empty())
    asked.options.difference = difference_of(typed);
  for (const std::string& word : training_->words()) apply_training(asked.training, word);
  return asked;
}

QString SharpnessPanel::fingerprint() const {
  const auto asked = request();
  return asked ? q(sharpness_command(*asked, question(), training_->words())) : QString();
}

QString SharpnessPanel::missing() const {
  if (document_.project().model.empty() || document_.plan() == nullptr)
    return "Open a model and a plan first.";
  return request() ? "" : "A field below is wrong; the sentence under it says how.";
}

bool SharpnessPanel::commit() {
  training_->refuse({});
  const bool whole = training_->commit();
  for (CheckedField* field : {steps_, products_, difference_}) field->check();
  return whole && missing().isEmpty();
}

void SharpnessPanel::refresh() {
  refresh_progress();
  Q_EMIT changed();
}

void SharpnessPanel::refresh_progress() {
  const bool running = measurement_.running();
  const bool before = measurement_.found() != nullptr;
  const QString wrong = running ? QString() : missing();
  show_run(running,
           running  ? "Stop"
           : before ? "Measure again"
                    : "Measure",
           running ? "Stop measuring sharpness" : "Start measuring sharpness", "play");
  run_->setEnabled(running || wrong.isEmpty());
  state_->setText(running ? "running" : before ? "done" : "");
  bar_->setRange(0, 100);
  bar_->setValue(static_cast<int>(100 * measurement_.progress()));
  now_->hide();
  count_->setText(document_.project().model.empty()
                      ? QString("No model")
                      : "Loss of " + q(word_title(document_.project().model)));
  show_wrong(!wrong.isEmpty() || running ? wrong : q(measurement_.error()));
}

}  // namespace trainyard

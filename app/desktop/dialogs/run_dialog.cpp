#include "app/desktop/dialogs/run_dialog.h"

#include <QCheckBox>
#include <QDialogButtonBox>
#include <QFormLayout>
#include <QGridLayout>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QSpinBox>
#include <QVBoxLayout>

#include <algorithm>

#include "app/desktop/controls/text.h"
#include "app/desktop/controls/training_fields.h"
#include "app/desktop/controls/widgets.h"
#include "app/workspace/runs/repeats.h"
#include "app/workspace/scenario/local_cluster.h"
#include "core/base/units_text.h"

namespace trainyard {
namespace {

template <class W>
W* named(W* widget, const QString& name) {
  widget->setAccessibleName(name);
  return widget;
}

QString sentence_case(const QString& words) { return words.left(1).toUpper() + words.mid(1); }

}  // namespace

RunDialog::RunDialog(const Request& request, const Scenario& complete, QWidget* parent,
                     const QString& training)
    : QDialog(parent),
      request_(request),
      scenario_(complete),
      local_(complete.cluster.device.id == "cpu"),
      devices_(named(new QSpinBox, "Virtual devices")),
      steps_(named(new QSpinBox, "Updates")),
      numbers_(named(new QSpinBox, "Updates between two looks at numbers")),
      repeats_(named(new QSpinBox, "Repeats")),
      memory_(named(new QLineEdit, "Memory per device")),
      training_(named(new QLineEdit, "Settings of training")),
      start_(named(new QLineEdit, "Checkpoint whose weights to start from")),
      data_(make_data_field("Data")),
      mode_(new Field("Clock")),
      rules_(new Field("Rules")),
      evaluate_(new QCheckBox("Evaluate afterwards on data that it was not trained on")),
      varied_(make_sources()) {
  setWindowTitle("Train on this machine");
  setModal(true);
  auto* column = new QVBoxLayout(this);
  if (!local_) {
    auto* note = new QLabel("The plan is for " + q(complete.cluster.name) +
                            ". Here the same plan runs on virtual devices of this machine.");
    note->setWordWrap(true);
    column->addWidget(note);
  }
  devices_->setRange(1, 256);
  devices_->setValue(static_cast<int>(std::min<std::int64_t>(256, devices_here(complete))));
  steps_->setRange(1, 1'000'000);
  steps_->setValue(100);
  memory_->setText(local_ ? q(readable(complete.cluster.device.memory.value)) : "1 GiB");
  training_->setPlaceholderText("rate=0.01 schedule=cosine");
  training_->setText(training);
  start_->setPlaceholderText("file of another run, or empty");
  start_->setToolTip(
      "A checkpoint that another run wrote, of any plan. Only its weights are taken; what the run "
      "did not find there begins anew.");
  mode_->addItem("Simulated clock: a core per device", 0);
  mode_->addItem("wall: as fast as this machine goes", 1);
  rules_->addItem("None", 0);
  rules_->addItem("Watch the run and report", 1);
  rules_->addItem("Watch the run and stop it when one fires", 2);
  rules_->setToolTip(
      "Rules look at gradients, weights, activations and losses at the first step and "
      "every 50 steps, and at the timeline in the end.");
  numbers_->setRange(0, 1'000'000);
  numbers_->setSingleStep(static_cast<int>(kNumberInterval));
  numbers_->setSpecialValueText("Never");
  numbers_->setPrefix("Every ");
  numbers_->setSuffix(" updates");
  numbers_->setToolTip(
      "Counts the exponents of weights, gradients and activations at the first update, every so "
      "many and at the last, and the updates that rounding cancels. The tab Numbers draws them.");
  repeats_->setRange(1, 10'000);
  repeats_->setToolTip(
      "Trains so many times, one after another. The runs get a tag in common, and Compare judges "
      "two such tags by how often a run of one beats a run of the other.");
  auto* form = new QFormLayout;
  form->addRow("&Virtual devices", devices_);
  form->addRow("&Memory per device", memory_);
  form->addRow("&Updates", steps_);
  form->addRow("&Data", data_);
  form->addRow("&Training", training_);
  form->addRow("&Start from weights", start_);
  form->addRow("&Clock", mode_);
  form->addRow("&Rules", rules_);
  form->addRow("Watch &numbers", numbers_);
  form->addRow("", evaluate_);
  form->addRow("Re&peats", repeats_);
  form->addRow("Drawn anew in each", varied_);
  column->addLayout(form);
  auto* buttons = new QDialogButtonBox(QDialogButtonBox::Ok | QDialogButtonBox::Cancel);
  train_ = buttons->button(QDialogButtonBox::Ok);
  train_->setText("Train");
  train_->setProperty("kind", "primary");
  for (QAbstractButton* button : buttons->buttons()) button->setIcon({});
  column->addWidget(buttons);
  connect(buttons, &QDialogButtonBox::accepted, this, &QDialog::accept);
  connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
  connect(repeats_, &QSpinBox::valueChanged, this, &RunDialog::refresh_sources);
  connect(data_, &QComboBox::currentIndexChanged, this, &RunDialog::refresh_sources);
  for (QCheckBox* source : sources_)
    connect(source, &QCheckBox::toggled, this, &RunDialog::refresh_sources);
  refresh_sources();
  steps_->setFocus();
  steps_->selectAll();
}

QWidget* RunDialog::make_sources() {
  auto* box = new QWidget;
  auto* grid = new QGridLayout(box);
  grid->setContentsMargins(0, 0, 0, 0);
  grid->setVerticalSpacing(4);
  constexpr int kColumns = 2;
  for (std::size_t i = 0; i < kRandomSources; ++i) {
    const auto source = static_cast<RandomSource>(i);
    auto* check = named(new QCheckBox(sentence_case(q(random_source_words(source)))),
                        "Draw anew: " + q(to_string(source)));
    check->setChecked(true);
    grid->addWidget(check, static_cast<int>(i) / kColumns, static_cast<int>(i) % kColumns);
    sources_.push_back(check);
  }
  return box;
}

std::vector<RandomSource> RunDialog::varied() const {
  std::vector<RandomSource> varied;
  for (std::size_t i = 0; i < sources_.size(); ++i)
    if (sources_[i]->isEnabled() && sources_[i]->isChecked())
      varied.push_back(static_cast<RandomSource>(i));
  return varied;
}

// A source that the run does not have cannot be chosen; rules and counts of numbers are about one
// run.
void RunDialog::refresh_sources() {
  const bool repeated = repeats_->value() > 1;
  const std::vector<RandomSource> there = random_sources_of(scenario_, data_in(*data_));
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    const bool has =
        std::find(there.begin(), there.end(), static_cast<RandomSource>(i)) != there.end();
    sources_[i]->setEnabled(repeated && has);
    sources_[i]->setToolTip(has ? "" : "This run draws nothing there.");
  }
  if (repeated) rules_->setCurrentIndex(0);
  rules_->setEnabled(!repeated);
  if (repeated) numbers_->setValue(0);
  numbers_->setEnabled(!repeated);
  const bool varies = !repeated || !varied().empty();
  train_->setEnabled(varies);
  train_->setToolTip(varies ? "" : "Repeats that draw nothing anew are all the same run.");
}

TrainingWish RunDialog::wish() const {
  TrainingWish wish;
  wish.request = request_;
  const Bytes memory = parse_bytes(memory_->text().toStdString(), {"memory of each"});
  wish.request.cluster = local_cluster(devices_->value(), memory).name;
  for (const QString& words : training_->text().split(' ', Qt::SkipEmptyParts))
    wish.training.push_back(words.toStdString());
  wish.steps = steps_->value();
  wish.mode = mode_->currentIndex() == 1 ? RunMode::WallClock : RunMode::VirtualTime;
  wish.data = data_in(*data_);
  wish.start_from = start_->text().trimmed().toStdString();
  wish.rules = rules_->currentIndex() > 0;
  wish.stops_on_rule = rules_->currentIndex() == 2;
  wish.numbers = numbers_->value();
  wish.evaluate = evaluate_->isChecked();
  wish.repeats = repeats_->value();
  if (wish.repeats > 1) wish.varied = varied();
  return wish;
}

}  // namespace trainyard

#include "app/desktop/dialogs/run_dialog.h"

#include <QCheckBox>
#include <QDialogButtonBox>
#include <QFormLayout>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QSpinBox>
#include <QVBoxLayout>

#include <algorithm>

#include "app/desktop/controls/text.h"
#include "app/desktop/controls/training_fields.h"
#include "app/desktop/controls/widgets.h"
#include "app/workspace/scenario/local_cluster.h"
#include "core/base/units_text.h"

namespace trainyard {
namespace {

template <class W>
W* named(W* widget, const QString& name) {
  widget->setAccessibleName(name);
  return widget;
}

}  // namespace

RunDialog::RunDialog(const Request& request, const Scenario& complete, QWidget* parent,
                     const QString& training)
    : QDialog(parent),
      request_(request),
      local_(complete.cluster.device.id == "cpu"),
      devices_(named(new QSpinBox, "Virtual devices")),
      steps_(named(new QSpinBox, "Updates")),
      memory_(named(new QLineEdit, "Memory per device")),
      training_(named(new QLineEdit, "Settings of training")),
      start_(named(new QLineEdit, "Checkpoint whose weights to start from")),
      data_(make_data_field("Data")),
      mode_(new Field("Clock")),
      rules_(new Field("Rules")),
      evaluate_(new QCheckBox("Evaluate afterwards on data that it was not trained on")) {
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
  auto* form = new QFormLayout;
  form->addRow("&Virtual devices", devices_);
  form->addRow("&Memory per device", memory_);
  form->addRow("&Updates", steps_);
  form->addRow("&Data", data_);
  form->addRow("&Training", training_);
  form->addRow("&Start from weights", start_);
  form->addRow("&Clock", mode_);
  form->addRow("&Rules", rules_);
  form->addRow("", evaluate_);
  column->addLayout(form);
  auto* buttons = new QDialogButtonBox(QDialogButtonBox::Ok | QDialogButtonBox::Cancel);
  buttons->button(QDialogButtonBox::Ok)->setText("Train");
  buttons->button(QDialogButtonBox::Ok)->setProperty("kind", "primary");
  for (QAbstractButton* button : buttons->buttons()) button->setIcon({});
  column->addWidget(buttons);
  connect(buttons, &QDialogButtonBox::accepted, this, &QDialog::accept);
  connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
  steps_->setFocus();
  steps_->selectAll();
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
  wish.evaluate = evaluate_->isChecked();
  return wish;
}

}  // namespace trainyard

#include "app/desktop/study/branch_panel.h"

#include <QComboBox>
#include <QVBoxLayout>

#include <algorithm>
#include <array>
#include <thread>

#include "app/desktop/controls/checked_field.h"
#include "app/desktop/controls/text.h"
#include "app/desktop/controls/widgets.h"
#include "app/desktop/controls/word_list.h"
#include "app/workspace/scenario/local_cluster.h"
#include "core/methods/settings/settings.h"

namespace trainyard {
namespace {

// Settings of a plan that decide what one layer on one device is; the others divide layers, which
// are whole here.
constexpr std::array<std::string_view, 5> kOfOneLayer = {"micro-batch", "seq", "precision",
                                                         "recompute", "lora"};

QStringList settings_of_layers(const ProjectPlan& plan) {
  QStringList words;
  for (const std::string& word : plan.settings) {
    const std::string key = word.substr(0, word.find('='));
    if (std::find(kOfOneLayer.begin(), kOfOneLayer.end(), key) == kOfOneLayer.end()) continue;
    words << q(word);
    // One microbatch is measured.
    if (key == "micro-batch") words << "global-" + q(word.substr(6));
  }
  return words;
}

bool needs_calibration(OperatorPrices prices) {
  return prices == OperatorPrices::Calibrated || prices == OperatorPrices::Learned;
}

void check_setting(const std::string& word) {
  Plan plan;
  apply_setting(plan, word);
}

}  // namespace

BranchPanel::BranchPanel(Document& document, const BranchMeasurement& measurement, QWidget* parent)
    : MeasurementPanel({"Branches", "What is measured", "Share of the measurements done",
                        "Why nothing is measured", "Question about branches"},
                       document, measurement, parent) {
  make_question();
  follow(settings_, {processor_, cores_, rounds_, group_size_, groups_});
  connect(strategy_, &Segment::chosen, this, &BranchPanel::note_change);
  connect(prices_, &QComboBox::currentIndexChanged, this, [this] {
    cores_->check();
    note_change();
  });
  refresh();
}

void BranchPanel::make_question() {
  auto* column = begin_fields(
      "Every operator of a layer runs on the cores of this machine with made-up numbers, alone and "
      "beside others; those that read the same input also run as one. Stages of operators that do "
      "not wait for each other are found from that and run in turn. By other prices nothing runs.");
  QStringList names;
  for (const Setting& each : settings()) names << q(each.key) + "=";
  settings_ = new WordList({.title = "Settings of the layers",
                            .hint = "micro-batch=1",
                            .check = check_setting,
                            .offered = names});
  column->addWidget(settings_);
  const BranchQuestion usual;
  strategy_ = new Segment("Strategy of the best stages", {"Concurrent", "Merged", "Both"});
  strategy_->set_current(static_cast<int>(usual.strategy));
  strategy_->setToolTip(
      "Concurrent: independent operators run beside each other on the cores. Merged: those of one "
      "input run as one operator, on one core. Both: whichever takes less.");
  column->addWidget(make_label("Independent operators run", 11, QFont::Normal, "second"));
  column->addWidget(strategy_);
  prices_ = new QComboBox;
  prices_->setAccessibleName("Times of operators");
  prices_->addItems({"Measured here", "Roofline", "Calibrated", "Learned"});
  prices_->setToolTip(
      "Measured here: operators and stages run. Roofline: by formula, also for another processor. "
      "Calibrated: the kernels of the project's calibration, other shapes between them. Learned: "
      "other shapes by trees that learned from its kernels.");
  column->addWidget(make_label("Times of operators", 11, QFont::Normal, "second"));
  column->addWidget(prices_);
  processor_ =
      new CheckedField({"Processor", q(local_cluster(1, {}).name), [](const std::string&) {}, 120});
  column->addWidget(processor_);
  constexpr int kMostPriced = 1024;
  const int here = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  cores_ = new CheckedField(
      {"Cores", QString::number(here), [this, here](const std::string& typed) {
         whole_check(1, prices() == OperatorPrices::Measured ? here : kMostPriced)(typed);
       }});
  rounds_ = new CheckedField({"Rounds", QString::number(usual.rounds), whole_check(1, 1000)});
  group_size_ =
      new CheckedField({"Operators in a group, at most", QString::number(usual.limits.group_size),
                        whole_check(1, 64), 56});
  groups_ = new CheckedField(
      {"Groups in a stage, at most", QString::number(usual.limits.groups), whole_check(1, 64), 56});
  for (CheckedField* field : {cores_, rounds_, group_size_, groups_}) column->addWidget(field);
  column->addStretch(1);
}

std::optional<Request> BranchPanel::request() const {
  if (document().project().model.empty() || !fields_hold()) return std::nullopt;
  Request asked{document().project().model, local_cluster(1, {}).name, "", {}};
  if (prices() == OperatorPrices::Roofline && !processor_->text().empty())
    asked.cluster = processor_->text();
  if (needs_calibration(prices())) asked.calibration = document().project().calibration;
  asked.settings = settings_->words();
  return asked;
}

BranchQuestion BranchPanel::question() const {
  BranchQuestion asked;
  const auto value = [](const CheckedField* field, int usual) {
    return static_cast<int>(whole_or(*field, usual));
  };
  asked.cores = value(cores_, asked.cores);
  asked.strategy = static_cast<StageStrategy>(strategy_->current());
  asked.prices = prices();
  if (asked.prices == OperatorPrices::Measured) asked.rounds = value(rounds_, asked.rounds);
  asked.limits.group_size = value(group_size_, asked.limits.group_size);
  asked.limits.groups = value(groups_, asked.limits.groups);
  return asked;
}

QString BranchPanel::fingerprint() const {
  const auto asked = request();
  return asked ? q(branch_command(*asked, question())) : QString();
}

OperatorPrices BranchPanel::prices() const {
  return static_cast<OperatorPrices>(prices_->currentIndex());
}

MeasurementPanel::Verbs BranchPanel::verbs() const {
  const bool measures = prices() == OperatorPrices::Measured;
  return {measures ? "Measure" : "Price", measures ? "Measure again" : "Price",
          "Start measuring branches", "Stop measuring branches", "Layers of"};
}

QString BranchPanel::missing() const {
  if (document().project().model.empty()) return "Open a model first.";
  if (needs_calibration(prices()) && document().project().calibration.empty())
    return "Measure this machine under Calibrate first, and accept the calibration: it has the "
           "kernels.";
  return request() ? "" : "A field below is wrong; the sentence under it says how.";
}

void BranchPanel::refresh() {
  const ProjectPlan* plan = document().plan();
  settings_->set_usual(plan == nullptr ? QStringList() : settings_of_layers(*plan));
  MeasurementPanel::refresh();
}

void BranchPanel::refresh_progress() {
  processor_->setVisible(prices() == OperatorPrices::Roofline);
  rounds_->setVisible(prices() == OperatorPrices::Measured);
  MeasurementPanel::refresh_progress();
}

}  // namespace trainyard

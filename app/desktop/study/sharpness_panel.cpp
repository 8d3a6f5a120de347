#include "app/desktop/study/sharpness_panel.h"

#include <QComboBox>
#include <QVBoxLayout>

#include "app/desktop/controls/checked_field.h"
#include "app/desktop/controls/text.h"
#include "app/desktop/controls/training_fields.h"
#include "app/desktop/controls/word_list.h"
#include "app/workspace/runs/sharpness/sharpness_chart.h"

namespace trainyard {
namespace {

constexpr double kLeastDifference = 1e-9, kMostDifference = 0.1;

}  // namespace

SharpnessPanel::SharpnessPanel(Document& document, const SharpnessMeasurement& measurement,
                               QWidget* parent)
    : MeasurementPanel({"Sharpness", "What is measured", "Share of the measurement done",
                        "Why nothing is measured", "Question about sharpness"},
                       document, measurement, parent) {
  make_question();
  follow(training_, {steps_, products_, difference_});
  connect(data_, &QComboBox::currentIndexChanged, this, &SharpnessPanel::note_change);
  refresh();
}

void SharpnessPanel::make_question() {
  auto* column = begin_fields(
      "Gradients of the open plan's loss are computed here, on the samples of its first update. "
      "Differences of them give the largest eigenvalue of the Hessian, which bounds the rate at "
      "which training is stable.");
  data_ = make_data_field("Data of the loss");
  add_data(column, data_);
  const SharpnessQuestion usual;
  steps_ = new CheckedField(
      {"Updates trained before", QString::number(usual.steps), whole_check(0, 1'000'000), 88});
  steps_->setToolTip("0: at the weights with which training begins.");
  products_ = new CheckedField({"Products, at most", QString::number(usual.options.most_products),
                                whole_check(1, 100'000), 88});
  products_->setToolTip("Products of the Hessian with a vector; each takes two gradients.");
  difference_ =
      new CheckedField({"Length of a difference", QString::number(usual.options.difference),
                        number_check(kLeastDifference, kMostDifference), 88});
  difference_->setToolTip(
      "How far apart two gradients are, as a share of the length of the weights. A shorter one "
      "meets fewer bends of ReLUs; a much shorter one is rounding.");
  for (CheckedField* field : {steps_, products_, difference_}) column->addWidget(field);
  training_ = make_training_list();
  column->addWidget(training_);
  column->addStretch(1);
}

std::optional<Request> SharpnessPanel::request() const { return open_plan(); }

SharpnessQuestion SharpnessPanel::question() const {
  SharpnessQuestion asked;
  asked.data = data_in(*data_);
  asked.steps = whole_or(*steps_, asked.steps);
  asked.options.most_products = static_cast<int>(whole_or(*products_, asked.options.most_products));
  asked.options.difference = number_or(*difference_, asked.options.difference);
  for (const std::string& word : training_->words()) apply_training(asked.training, word);
  return asked;
}

QString SharpnessPanel::fingerprint() const {
  const auto asked = request();
  return asked ? q(sharpness_command(*asked, question(), training_->words())) : QString();
}

MeasurementPanel::Verbs SharpnessPanel::verbs() const {
  return {"Measure", "Measure again", "Start measuring sharpness", "Stop measuring sharpness",
          "Loss of"};
}

}  // namespace trainyard

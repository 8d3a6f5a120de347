#include "app/desktop/study/descent_panel.h"

#include <QVBoxLayout>

#include "app/desktop/controls/checked_field.h"
#include "app/desktop/controls/text.h"
#include "app/workspace/runs/halp_words.h"
#include "core/base/units_text.h"

namespace trainyard {
namespace {

constexpr int kDescentField = 88;  // px

}  // namespace

DescentPanel::DescentPanel(Document& document, const DescentMeasurement& measurement,
                           QWidget* parent)
    : MeasurementPanel({"Descent in few bits", "What descends", "Share of the descents done",
                        "Why nothing descends", "Question about descent"},
                       document, measurement, parent) {
  make_question();
  follow(nullptr, {bits_, mu_, rate_, weights_, samples_, inner_, rounds_, seed_});
  // More weights need more samples.
  connect(weights_, &CheckedField::changed, this, [this] {
    samples_->check();
    note_change();
  });
  refresh();
}

void DescentPanel::make_question() {
  auto* column = begin_fields(
      "HALP descends on least squares with weights that are offsets of few bits from an anchor; "
      "each full gradient makes their grid anew. A grid that stays and floats descend beside it.");
  const HalpQuestion usual;
  const auto add = [column](const CheckedField::Kind& kind, const char* tip) {
    auto* field = new CheckedField(kind);
    field->setToolTip(tip);
    column->addWidget(field);
    return field;
  };
  const auto whole = [](std::int64_t number) { return QString::number(number); };
  bits_ = add({"Bits", q(halp_bits_text(usual.bits)),
               [](const std::string& typed) { halp_bits(typed); }, 140},
              "Of an offset, each number of them a descent of its own.");
  mu_ = add({"Strong convexity", q(to_text(usual.mu)), number_check(kLeastHalpNumber, kMostHalpMu),
             kDescentField},
            "That the grid assumes: a smaller one makes it wider.");
  rate_ = add({"Learning rate", q(to_text(usual.rate)),
               number_check(kLeastHalpNumber, kMostHalpRate), kDescentField},
              "");
  weights_ =
      add({"Weights", whole(usual.weights), whole_check(1, kMostHalpWeights), kDescentField}, "");
  samples_ = add(
      {"Samples", whole(usual.samples),
       [this](const std::string& typed) { whole_check(weights() + 1, kMostHalpSamples)(typed); },
       kDescentField},
      "Of the problem, more than it has weights.");
  inner_ =
      add({"Steps of a round", whole(usual.inner), whole_check(1, kMostHalpSteps), kDescentField},
          "Between two full gradients.");
  rounds_ = add({"Rounds", whole(usual.rounds), whole_check(1, kMostHalpRounds), kDescentField},
                "Each begins with a full gradient.");
  seed_ = add({"Seed", whole(static_cast<std::int64_t>(usual.seed)), whole_check(0, kMostHalpSeed),
               kDescentField},
              "Of samples, draws and roundings.");
  column->addStretch(1);
}

// While the field is wrong it says so, and the usual number stands for it.
std::int64_t DescentPanel::weights() const {
  const HalpQuestion usual;
  return weights_->refusal().isEmpty() ? whole_or(*weights_, usual.weights) : usual.weights;
}

HalpQuestion DescentPanel::question() const {
  HalpQuestion asked;
  if (const std::string typed = bits_->text(); !typed.empty()) asked.bits = halp_bits(typed);
  asked.mu = number_or(*mu_, asked.mu);
  asked.rate = number_or(*rate_, asked.rate);
  asked.weights = weights();
  asked.samples = whole_or(*samples_, usual_halp_samples(asked.weights));
  asked.inner = whole_or(*inner_, asked.inner);
  asked.rounds = whole_or(*rounds_, asked.rounds);
  asked.seed = static_cast<std::uint64_t>(whole_or(*seed_, static_cast<std::int64_t>(asked.seed)));
  return asked;
}

QString DescentPanel::fingerprint() const {
  return fields_hold() ? q(halp_command(question())) : QString();
}

MeasurementPanel::Verbs DescentPanel::verbs() const {
  return {"Descend", "Descend again", "Start the descents", "Stop the descents", ""};
}

QString DescentPanel::missing() const { return wrong_field(); }

QString DescentPanel::subject() const { return "Least squares"; }

void DescentPanel::refresh_progress() {
  samples_->set_usual(QString::number(usual_halp_samples(weights())));
  MeasurementPanel::refresh_progress();
}

}  // namespace trainyard

#include "app/desktop/study/gate_panel.h"

#include <QCheckBox>
#include <QComboBox>
#include <QFileDialog>
#include <QLineEdit>
#include <QPushButton>
#include <QVBoxLayout>

#include "app/desktop/controls/checked_field.h"
#include "app/desktop/controls/text.h"
#include "app/desktop/controls/training_fields.h"
#include "app/desktop/controls/word_list.h"

namespace trainyard {
namespace {

constexpr const char* kOfReference = "?";  // stands for the file of the reference
constexpr int kBitsInVectors = 4;
constexpr const char* kCheckpoints = "Checkpoints (*.ckpt);;All files (*)";

}  // namespace

GatePanel::GatePanel(Document& document, const GateMeasurement& measurement, QWidget* parent)
    : MeasurementPanel({"Gate of quality", "What is judged", "Share of the questions answered",
                        "Why nothing is judged", "Question of the gate"},
                       document, measurement, parent) {
  make_question();
  follow(models_, {reference_, corruptions_, limits_, samples_, error_rates_});
  connect(data_, &QComboBox::currentIndexChanged, this, &GatePanel::note_change);
  for (QCheckBox* box : {vectors_, lossless_})
    connect(box, &QCheckBox::toggled, this, &GatePanel::note_change);
  refresh();
}

void GatePanel::make_question() {
  auto* column = begin_fields(
      "Models answer the samples for evaluation, clean and corrupted. They are held against a "
      "checkpoint of the open model, answer by answer.");
  reference_ =
      new CheckedField({"Reference", "a checkpoint",
                        [](const std::string& typed) { read_gate_side(typed, "", {}); }, 130});
  reference_->setToolTip("A checkpoint that a run of the open model has saved.");
  column->addWidget(reference_);
  auto* choose = new QPushButton("Choose checkpoint…");
  choose->setAccessibleName("Choose the checkpoint of the reference");
  connect(choose, &QPushButton::clicked, this, [this] {
    const QString path = QFileDialog::getOpenFileName(this, "Reference", {}, kCheckpoints);
    auto* edit = reference_->findChild<QLineEdit*>();
    if (path.isEmpty() || edit == nullptr) return;
    edit->setText(path);
    Q_EMIT edit->textEdited(path);
  });
  column->addWidget(choose);
  models_ = new WordList({"Models",
                          "bits=4, or a checkpoint",
                          [](const std::string& typed) { read_gate_side(typed, kOfReference, {}); },
                          [](const QString& word) {
                            GateSide side = read_gate_side(word.toStdString(), kOfReference, {});
                            if (side.file == kOfReference) side.file.clear();
                            return q(side_title(side));
                          },
                          {"bits=4", "bits=8", "bits=4,group=16,scale-bits=4",
                           "bits=8,bit-errors=0.01", "sparsity=0.9", "precision=bf16",
                           "precision=mxfp8", "rank=8", "tt-rank=8", "backend=reference"},
                          kCheckpoints});
  models_->set_usual({"bits=4", "sparsity=0.5"});
  models_->setToolTip(
      "Other checkpoints, or what is changed about the reference: sparsity=, bits= (with group= "
      "and scale-bits=, or bit-errors= and chips=), rank=, tt-rank=, precision=, backend=; several "
      "of them joined by "
      "commas.");
  column->addWidget(models_);
  corruptions_ =
      new CheckedField({"Corrupted by", "one of each",
                        [](const std::string& typed) { read_corruptions(typed, {}); }, 130});
  corruptions_->setToolTip("As noise:0.5,shift:2,contrast:0.5,replace:0.1");
  limits_ = new CheckedField({"Limits", "excess-error=0.5%",
                              [](const std::string& typed) {
                                GateLimits limits;
                                apply_limits(limits, typed, {});
                              },
                              130});
  limits_->setToolTip("excess-error, instability, flips, eigenspace; as instability=2%");
  samples_ = new CheckedField({"Samples, at most", "all", whole_check(1, 1'000'000'000), 88});
  error_rates_ =
      new CheckedField({"Rates of bit errors", "none",
                        [](const std::string& typed) { read_error_rates(typed, {}); }, 130});
  error_rates_->setToolTip(
      "As 0.001,0.01,2.5%: asks about each model with whole bits once at every rate of bits that "
      "are flipped, and draws its errors as a curve.");
  for (CheckedField* field : {corruptions_, limits_, samples_, error_rates_})
    column->addWidget(field);
  data_ = make_data_field("Data of the gate");
  add_data(column, data_);
  vectors_ = new QCheckBox("Noise of 4 bits in vectors");
  vectors_->setToolTip(
      "Draws how much signal the reference's weights have over the noise of 4 bits, by the number "
      "of weights that share a scale and the bits of scales.");
  column->addWidget(vectors_);
  lossless_ = new QCheckBox("Lossless size");
  lossless_->setToolTip(
      "Lists the bytes of the reference's weights and of the activations of its first samples in 8 "
      "bits where groups of numbers have only as many bits as their widest needs.");
  column->addWidget(lossless_);
  blocks_ = new QCheckBox("Block export where not passed");
  blocks_->setChecked(true);
  blocks_->setToolTip(
      "While it is set, no plan of this model is exported after a gate that was "
      "not passed.");
  column->addWidget(blocks_);
  column->addStretch(1);
}

GateWords GatePanel::words() const {
  GateWords words;
  words.reference = reference_->text(), words.data = data_in(*data_);
  words.corruptions = corruptions_->text(), words.limits = limits_->text();
  words.models = models_->words();
  words.samples = whole_or(*samples_, 0);
  words.vector_bits = vectors_->isChecked() ? kBitsInVectors : 0;
  words.error_rates = error_rates_->text(), words.lossless = lossless_->isChecked();
  return words;
}

std::optional<Request> GatePanel::request() const {
  if (reference_->text().empty() || models_->words().empty()) return std::nullopt;
  return open_plan();
}

GateQuestion GatePanel::question() const {
  const GateWords asked = words();
  GateQuestion made;
  made.data = asked.data, made.samples = asked.samples, made.vector_bits = asked.vector_bits;
  made.lossless = asked.lossless;
  made.reference = read_gate_side(asked.reference, "", {"Reference"});
  for (const std::string& model : asked.models)
    made.models.push_back(read_gate_side(model, made.reference.file, {"Models"}));
  made.corruptions = read_corruptions(asked.corruptions, {"Corrupted by"});
  apply_limits(made.limits, asked.limits, {"Limits"});
  return made;
}

QString GatePanel::fingerprint() const {
  const auto asked = request();
  return asked ? q(gate_command(*asked, words())) : QString();
}

MeasurementPanel::Verbs GatePanel::verbs() const {
  return {"Ask", "Ask again", "Ask the gate of quality", "Stop the gate of quality", "Answers of"};
}

QString GatePanel::missing() const {
  if (document().project().model.empty() || document().plan() == nullptr)
    return MeasurementPanel::missing();
  if (reference_->text().empty()) return "Choose a checkpoint of the open model first.";
  if (models_->words().empty()) return "Add a model that is held against the checkpoint.";
  return MeasurementPanel::missing();
}

bool GatePanel::blocks_export() const { return blocks_->isChecked(); }

}  // namespace trainyard

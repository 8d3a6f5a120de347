#include "app/desktop/analyse/gate_panel.h"

#include <QCheckBox>
#include <QComboBox>
#include <QFileDialog>
#include <QLabel>
#include <QLineEdit>
#include <QProgressBar>
#include <QPushButton>
#include <QVBoxLayout>

#include <algorithm>

#include "app/desktop/controls/checked_field.h"
#include "app/desktop/controls/text.h"
#include "app/desktop/controls/theme.h"
#include "app/desktop/controls/training_fields.h"
#include "app/desktop/controls/word_list.h"
#include "core/io/json/inline_document.h"

namespace trainyard {
namespace {

constexpr const char* kOfReference = "?";  // stands for the file of the reference
constexpr const char* kCheckpoints = "Checkpoints (*.ckpt);;All files (*)";

}  // namespace

GatePanel::GatePanel(Document& document, const GateMeasurement& measurement, QWidget* parent)
    : QuestionPanel({"Gate of quality", "What is judged", "Share of the questions answered",
                     "Why nothing is judged", "Question of the gate"},
                    268, parent),
      document_(document),
      measurement_(measurement) {
  set_fields(make_question());
  connect(&measurement_, &BackgroundMeasurement::changed, this, &GatePanel::refresh_progress);
  const auto changed = [this] {
    refresh_progress();
    Q_EMIT this->changed();
  };
  connect(data_, &QComboBox::currentIndexChanged, this, changed);
  connect(models_, &WordList::changed, this, changed);
  for (const CheckedField* field : {reference_, corruptions_, limits_, samples_})
    connect(field, &CheckedField::changed, this, changed);
  refresh();
}

QWidget* GatePanel::make_question() {
  auto* inside = new QWidget;
  auto* column = new QVBoxLayout(inside);
  column->setContentsMargins(10, 6, 10, 8);
  column->setSpacing(10);
  auto* about = make_label(
      "Models answer the samples for evaluation, clean and corrupted. They are held against a "
      "checkpoint of the open model, answer by answer.",
      11, QFont::Normal, "third");
  about->setWordWrap(true);
  column->addWidget(about);
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
  models_ =
      new WordList({"Models",
                    "bits=4, or a checkpoint",
                    [](const std::string& typed) { read_gate_side(typed, kOfReference, {}); },
                    [](const QString& word) {
                      GateSide side = read_gate_side(word.toStdString(), kOfReference, {});
                      if (side.file == kOfReference) side.file.clear();
                      return q(side_title(side));
                    },
                    {"bits=4", "bits=8", "bits=8,bit-errors=0.01", "sparsity=0.9", "precision=bf16",
                     "precision=mxfp8", "rank=8", "tt-rank=8", "backend=reference"},
                    kCheckpoints});
  models_->set_usual({"bits=4", "sparsity=0.5"});
  models_->setToolTip(
      "Other checkpoints, or what is changed about the reference: sparsity=, bits= (with group=, "
      "or "
      "bit-errors= and chips=), rank=, tt-rank=, precision=, backend=; several of them joined by "
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
  for (CheckedField* field : {corruptions_, limits_, samples_}) column->addWidget(field);
  data_ = make_data_field("Data of the gate");
  data_->setFixedSize(124, kFieldHeight);
  auto* row = new QHBoxLayout;
  row->addWidget(make_label("Data", 12, QFont::Normal, "second"));
  row->addStretch(1);
  row->addWidget(data_);
  column->addLayout(row);
  blocks_ = new QCheckBox("Block export where not passed");
  blocks_->setChecked(true);
  blocks_->setToolTip(
      "While it is set, no plan of this model is exported after a gate that was "
      "not passed.");
  column->addWidget(blocks_);
  column->addStretch(1);
  return inside;
}

GateWords GatePanel::words() const {
  GateWords words;
  words.reference = reference_->text(), words.data = data_in(*data_);
  words.corruptions = corruptions_->text(), words.limits = limits_->text();
  words.models = models_->words();
  words.samples = whole_or(*samples_, 0);
  return words;
}

std::optional<Request> GatePanel::request() const {
  const std::initializer_list<const CheckedField*> fields = {reference_, corruptions_, limits_,
                                                             samples_};
  const ProjectPlan* const plan = document_.plan();
  if (plan == nullptr || document_.project().model.empty() || reference_->text().empty() ||
      models_->words().empty() ||
      !std::all_of(fields.begin(), fields.end(),
                   [](const CheckedField* field) { return field->refusal().isEmpty(); }))
    return std::nullopt;
  Request request = request_of(document_.project(), *plan);
  request.calibration.clear();
  return request;
}

GateQuestion GatePanel::question() const {
  const GateWords asked = words();
  GateQuestion made;
  made.data = asked.data, made.samples = asked.samples;
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

QString GatePanel::missing() const {
  if (document_.project().model.empty() || document_.plan() == nullptr)
    return "Open a model and a plan first.";
  if (reference_->text().empty()) return "Choose a checkpoint of the open model first.";
  if (models_->words().empty()) return "Add a model that is held against the checkpoint.";
  return request() ? "" : "A field below is wrong; the sentence under it says how.";
}

bool GatePanel::commit() {
  const bool whole = models_->commit();
  for (CheckedField* field : {reference_, corruptions_, limits_, samples_}) field->check();
  return whole && missing().isEmpty();
}

void GatePanel::refresh() {
  refresh_progress();
  Q_EMIT changed();
}

bool GatePanel::blocks_export() const { return blocks_->isChecked(); }

void GatePanel::refresh_progress() {
  const bool running = measurement_.running();
  const bool before = measurement_.found() != nullptr;
  const QString wrong = running ? QString() : missing();
  show_run(running,
           running  ? "Stop"
           : before ? "Ask again"
                    : "Ask",
           running ? "Stop the gate of quality" : "Ask the gate of quality", "play");
  run_->setEnabled(running || wrong.isEmpty());
  state_->setText(running ? "running" : before ? "done" : "");
  bar_->setRange(0, 100);
  bar_->setValue(static_cast<int>(100 * measurement_.progress()));
  now_->hide();
  count_->setText(document_.project().model.empty()
                      ? QString("No model")
                      : "Answers of " + q(word_title(document_.project().model)));
  show_wrong(!wrong.isEmpty() || running ? wrong : q(measurement_.error()));
}

}  // namespace trainyard

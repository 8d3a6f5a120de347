#include "app/desktop/calibrate/probe_panel.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QProgressBar>
#include <QPushButton>
#include <QScrollArea>
#include <QVBoxLayout>

#include <algorithm>
#include <memory>
#include <utility>

#include "app/desktop/controls/canvas_widget.h"
#include "app/desktop/controls/text.h"
#include "app/desktop/controls/theme.h"
#include "app/desktop/controls/widgets.h"
#include "app/desktop/scene/charts.h"
#include "core/base/error.h"

namespace trainyard {
namespace {

constexpr int kSentences = 330;  // px

// Widths around the usual one, with room for a few steps.
QString usual_widths(const OpSize& size) {
  const std::int64_t around = std::clamp<std::int64_t>(size.usual / 4, 8, 32);
  return QString("%1..%2")
      .arg(std::max(size.least, size.usual - around))
      .arg(std::min(size.most, size.usual + around));
}

QPushButton* probe_button(const QString& words, const QString& name, const QString& tip) {
  auto* made = new QPushButton(words);
  made->setAccessibleName(name);
  made->setToolTip(tip);
  made->setFixedHeight(kFieldHeight);
  return made;
}

QLineEdit* probe_edit(const QString& name, const QString& tip, int width) {
  auto* made = new QLineEdit;
  made->setAccessibleName(name);
  made->setToolTip(tip);
  made->setFixedSize(width, kFieldHeight);
  return made;
}

}  // namespace

ProbePanel::ProbePanel(std::function<std::string()> calibration, QWidget* parent)
    : QWidget(parent), calibration_(std::move(calibration)) {
  auto scene = staircase_scene(
      [this] { return measurement_.found().get(); },
      [this]() -> QString {
        return measurement_.running()
                   ? "Measuring …"
                   : "Choose an op and the size to vary: every width is measured many times in an "
                     "order of chance, and steps, free paddings and dear widths are found.";
      });
  scene_ = scene.get();
  canvas_ = new CanvasWidget("Time of a kernel over one of its sizes", std::move(scene));
  canvas_->setMinimumHeight(160);
  sentences_ = make_label("", 12, QFont::Normal);
  sentences_->setWordWrap(true);
  sentences_->setAlignment(Qt::AlignTop);
  sentences_->setContentsMargins(10, 8, 10, 8);
  sentences_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  auto* scroll = new QScrollArea;
  scroll->setObjectName("panel");
  scroll->setAccessibleName("What follows from the probe");
  scroll->setFrameShape(QFrame::NoFrame);
  scroll->setWidgetResizable(true);
  scroll->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  scroll->setWidget(sentences_);
  scroll->setFixedWidth(kSentences);
  auto* row = new QHBoxLayout;
  row->setSpacing(0);
  row->addWidget(canvas_, 1);
  row->addWidget(scroll);
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  column->addWidget(make_bar());
  column->addLayout(row, 1);
  choose_op();
  connect(&measurement_, &ProbeMeasurement::changed, this, &ProbePanel::refresh);
  refresh();
}

QWidget* ProbePanel::make_bar() {
  auto* bar = new Header("Probe");
  op_ = new Field("Op to probe");
  for (const SizedOp& op : sized_ops()) op_->addItem(q(op.name));
  pass_ = new Field("Pass of the op");
  for (const Pass pass : {Pass::Forward, Pass::BackwardInput, Pass::BackwardWeight})
    pass_->addItem(q(pass_word(pass)));
  varied_ = new Field("Size that is varied");
  widths_ =
      probe_edit("Widths of the varied size",
                 "112..208, 64..1024:64 for every 64th, 1..1024:x2 for doubles, or 64,96,128", 110);
  sizes_ = probe_edit("Other sizes of the op", "As m=256 k=512, with spaces between.", 190);
  start_ = probe_button("Probe", "Measure the staircase",
                        "Runs in the background, once you agree above to run benchmarks.");
  start_->setProperty("kind", "primary");
  stop_ = probe_button("Stop", "Stop the probe",
                       "Ends early; rounds that are whole count where they are enough.");
  progress_ = new QProgressBar;
  progress_->setAccessibleName("Share of the rounds that were measured");
  progress_->setRange(0, 100);
  progress_->setFixedSize(90, 14);
  state_ = new ElidedLabel(11, "second");
  bar->row()->addWidget(state_, 1);
  for (QWidget* part : std::initializer_list<QWidget*>{
           op_, pass_, make_label("over", 12, QFont::Normal, ""), varied_, widths_,
           make_label("with", 12, QFont::Normal, ""), sizes_, progress_, stop_, start_})
    bar->row()->addWidget(part);
  connect(op_, &QComboBox::activated, this, &ProbePanel::choose_op);
  connect(varied_, &QComboBox::activated, this, &ProbePanel::choose_size);
  connect(start_, &QPushButton::clicked, this, &ProbePanel::start);
  connect(widths_, &QLineEdit::returnPressed, this, &ProbePanel::start);
  connect(sizes_, &QLineEdit::returnPressed, this, &ProbePanel::start);
  connect(stop_, &QPushButton::clicked, this, [this] { measurement_.stop(); });
  return bar;
}

// The first size is the batch, which has few steps: the second one is varied at first.
void ProbePanel::choose_op() {
  const SizedOp& op = sized_ops()[static_cast<std::size_t>(op_->currentIndex())];
  varied_->clear();
  for (const OpSize& size : op.sizes) {
    varied_->addItem(q(size.name));
    varied_->setItemData(varied_->count() - 1, q(size.doc), Qt::ToolTipRole);
  }
  varied_->setCurrentIndex(1);
  choose_size();
}

void ProbePanel::choose_size() {
  const SizedOp& op = sized_ops()[static_cast<std::size_t>(op_->currentIndex())];
  const auto chosen = static_cast<std::size_t>(varied_->currentIndex());
  widths_->setText(usual_widths(op.sizes[chosen]));
  QStringList others;
  for (const OpSize& size : op.sizes)
    if (size.name != op.sizes[chosen].name)
      others << q(size.name) + "=" + QString::number(size.usual);
  sizes_->setText(others.join(" "));
}

ProbeQuestion ProbePanel::question() const {
  ProbeQuestion question;
  question.op = op_->currentText().toStdString();
  question.pass = *pass_of(pass_->currentText().toStdString());
  question.varied =
      varied_size((varied_->currentText() + "=" + widths_->text().trimmed()).toStdString());
  for (const QString& word : sizes_->text().split(' ', Qt::SkipEmptyParts))
    add_size(question.sizes, word.toStdString());
  question.calibration = calibration_();
  return question;
}

void ProbePanel::start() {
  if (!allowed_ || measurement_.running()) return;
  try {
    measurement_.start<ProbeQuestion>(question(), kernel_probe);
  } catch (const Error& wrong) {
    measurement_.refuse(describe(wrong));
  }
}

void ProbePanel::allow(bool allowed) {
  allowed_ = allowed;
  refresh();
}

QString ProbePanel::sentences() const { return sentences_->text(); }

void ProbePanel::refresh() {
  const bool running = measurement_.running();
  start_->setEnabled(allowed_ && !running);
  stop_->setEnabled(running);
  progress_->setVisible(running);
  progress_->setValue(static_cast<int>(100 * measurement_.progress()));
  set_tone(state_, measurement_.error().empty() ? "second" : "error");
  state_->setText(running ? QString("measuring") : q(measurement_.error()));
  const auto found = measurement_.found();
  if (found.get() != shown_) {
    shown_ = found.get();
    scene_->select({});
    QStringList lines;
    for (const std::string& sentence : probe_sentences(*found)) lines << q(sentence);
    sentences_->setText(lines.join("\n\n"));
  }
  canvas_->refresh();
}

}  // namespace trainyard

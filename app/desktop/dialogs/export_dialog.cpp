#include "app/desktop/dialogs/export_dialog.h"

#include <QApplication>
#include <QClipboard>
#include <QDialogButtonBox>
#include <QFileDialog>
#include <QFileInfo>
#include <QHBoxLayout>
#include <QLabel>
#include <QListWidget>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QVBoxLayout>

#include <filesystem>

#include "app/desktop/controls/theme.h"
#include "app/desktop/controls/widgets.h"
#include "app/workspace/scenario/exchange.h"
#include "core/io/bytes/file_writer.h"

namespace trainyard {
namespace {

QString words(std::string_view text) {
  return QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size()));
}

const ExportFormat& format_at(int row) {
  return export_formats()[static_cast<std::size_t>(std::max(0, row))];
}

QLabel* line(const QString& name) {
  QLabel* label = make_label("", 12, QFont::Normal, "warn");
  label->setTextFormat(Qt::PlainText);
  label->setWordWrap(true);
  label->setAccessibleName(name);
  label->setTextInteractionFlags(Qt::TextSelectableByMouse);
  return label;
}

QString whole(const Exported& exported) {
  return QString::fromStdString(exported.header + exported.text);
}

// The weights of a network are millions of numbers, which nobody reads here.
QString shown(const Exported& exported) {
  constexpr qsizetype kMostShown = 200'000;
  const QString text = whole(exported);
  if (text.size() <= kMostShown) return text;
  return text.left(kMostShown) + QString("\n… and %1 characters more, which Save and Copy have")
                                     .arg(text.size() - kMostShown);
}

// One line per warning: "• vocabulary padded ...; try tp=4".
QString lines(const Diagnostics& warnings) {
  QStringList list;
  for (const Diagnostic& d : warnings)
    list << QString::fromStdString("• " + d.message + (d.fix.empty() ? "" : "; try " + d.fix));
  return list.join("\n");
}

}  // namespace

ExportDialog::ExportDialog(ExperimentPtr experiment, QWidget* parent)
    : QDialog(parent),
      experiment_(std::move(experiment)),
      targets_(new QListWidget),
      text_(new QPlainTextEdit) {
  setWindowTitle("Export plan");
  setModal(true);
  resize(1000, 700);
  auto* column = new QVBoxLayout(this);
  auto* row = new QHBoxLayout;
  targets_->setAccessibleName("Programs that can be given the plan");
  targets_->setFixedWidth(240);
  for (const ExportFormat& format : export_formats()) targets_->addItem(words(format.title));
  row->addWidget(targets_);
  auto* right = new QVBoxLayout;
  refusal_ = line("What cannot be said there");
  warnings_ = line("What is left to be done by hand");
  weights_ = new QPushButton("Choose trained weights…");
  weights_->setAccessibleName("Choose the checkpoint of the weights");
  weights_->setToolTip(
      "A checkpoint that a run of the open model has saved. Without one, the weights are those "
      "with "
      "which training begins.");
  right->addWidget(weights_, 0, Qt::AlignLeft);
  right->addWidget(refusal_);
  right->addWidget(warnings_);
  text_->setAccessibleName("What is written");
  text_->setReadOnly(true);
  text_->setFont(code_font());
  text_->setLineWrapMode(QPlainTextEdit::NoWrap);
  text_->setTabChangesFocus(true);
  right->addWidget(text_, 1);
  row->addLayout(right, 1);
  column->addLayout(row, 1);
  QDialogButtonBox* const buttons = add_closing_row(this, column);
  save_ = buttons->addButton("Save…", QDialogButtonBox::ActionRole);
  copy_ = buttons->addButton("Copy", QDialogButtonBox::ActionRole);
  connect(weights_, &QPushButton::clicked, this, &ExportDialog::choose_weights);
  connect(save_, &QPushButton::clicked, this, &ExportDialog::save);
  connect(copy_, &QPushButton::clicked, this,
          [this] { QApplication::clipboard()->setText(whole(exported_)); });
  connect(targets_, &QListWidget::currentRowChanged, this, &ExportDialog::refresh);
  choose(0);
}

void ExportDialog::choose(int target) { targets_->setCurrentRow(target); }

QString ExportDialog::preview() const { return text_->toPlainText(); }

QString ExportDialog::refusal() const { return refusal_->text(); }

QString ExportDialog::warnings() const { return warnings_->text(); }

void ExportDialog::take_weights(const QString& checkpoint) {
  checkpoint_ = checkpoint;
  weights_->setText(checkpoint.isEmpty() ? "Choose trained weights…"
                                         : "Weights of " + QFileInfo(checkpoint).fileName() + "…");
  refresh();
}

void ExportDialog::choose_weights() {
  const QString path = QFileDialog::getOpenFileName(this, "Trained weights", {},
                                                    "Checkpoints (*.ckpt);;All files (*)");
  if (!path.isEmpty()) take_weights(path);
}

void ExportDialog::refresh() {
  const ExportFormat& format = format_at(targets_->currentRow());
  exported_ = {};
  std::string refusal;
  QApplication::setOverrideCursor(Qt::WaitCursor);
  try {
    exported_ = format.write_weights == nullptr
                    ? format.write(experiment_->workload)
                    : format.write_weights(experiment_->workload, checkpoint_.toStdString());
  } catch (const Error& error) {
    refusal = describe(error);
  }
  QApplication::restoreOverrideCursor();
  weights_->setVisible(format.write_weights != nullptr);
  text_->setPlainText(shown(exported_));
  refusal_->setText(QString::fromStdString(refusal));
  refusal_->setVisible(!refusal.empty());
  warnings_->setText(lines(exported_.warnings));
  warnings_->setVisible(!exported_.warnings.empty());
  save_->setEnabled(refusal.empty());
  copy_->setEnabled(refusal.empty());
}

// A C program's header goes beside it, under the name by which it is included.
void ExportDialog::write_files(const std::string& path) const {
  if (!exported_.header.empty())
    write_file_atomically(
        (std::filesystem::path(path).parent_path() / (exported_.name + ".h")).string(),
        exported_.header);
  write_file_atomically(path, exported_.text);
}

void ExportDialog::save() {
  const ExportFormat& format = format_at(targets_->currentRow());
  const QString name = exported_.name.empty() ? "plan" : QString::fromStdString(exported_.name);
  const QString path = QFileDialog::getSaveFileName(
      this, "Export plan", name + "." + words(format.ending),
      QString("%1 (*.%2)").arg(words(format.title), words(format.ending)));
  if (path.isEmpty()) return;
  try {
    write_files(path.toStdString());
    accept();
  } catch (const Error& error) {
    refusal_->setText(QString::fromStdString(describe(error)));
    refusal_->show();
  }
}

}  // namespace trainyard

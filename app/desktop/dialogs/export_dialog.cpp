#include "app/desktop/dialogs/export_dialog.h"

#include <QApplication>
#include <QClipboard>
#include <QDialogButtonBox>
#include <QFileDialog>
#include <QHBoxLayout>
#include <QLabel>
#include <QListWidget>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QVBoxLayout>

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
  auto* buttons = new QDialogButtonBox(QDialogButtonBox::Close);
  save_ = buttons->addButton("Save…", QDialogButtonBox::ActionRole);
  copy_ = buttons->addButton("Copy", QDialogButtonBox::ActionRole);
  column->addWidget(buttons);
  connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
  connect(save_, &QPushButton::clicked, this, &ExportDialog::save);
  connect(copy_, &QPushButton::clicked, this,
          [this] { QApplication::clipboard()->setText(text_->toPlainText()); });
  connect(targets_, &QListWidget::currentRowChanged, this, &ExportDialog::refresh);
  choose(0);
}

void ExportDialog::choose(int target) { targets_->setCurrentRow(target); }

QString ExportDialog::preview() const { return text_->toPlainText(); }

QString ExportDialog::refusal() const { return refusal_->text(); }

QString ExportDialog::warnings() const { return warnings_->text(); }

void ExportDialog::refresh() {
  Exported exported;
  std::string refusal;
  try {
    exported = format_at(targets_->currentRow()).write(experiment_->workload);
  } catch (const Error& error) {
    refusal = describe(error);
  }
  text_->setPlainText(QString::fromStdString(exported.text));
  refusal_->setText(QString::fromStdString(refusal));
  refusal_->setVisible(!refusal.empty());
  warnings_->setText(lines(exported.warnings));
  warnings_->setVisible(!exported.warnings.empty());
  save_->setEnabled(refusal.empty());
  copy_->setEnabled(refusal.empty());
}

void ExportDialog::save() {
  const ExportFormat& format = format_at(targets_->currentRow());
  const QString path = QFileDialog::getSaveFileName(
      this, "Export plan", "plan." + words(format.ending),
      QString("%1 (*.%2)").arg(words(format.title), words(format.ending)));
  if (path.isEmpty()) return;
  try {
    write_file_atomically(path.toStdString(), text_->toPlainText().toStdString());
    accept();
  } catch (const Error& error) {
    refusal_->setText(QString::fromStdString(describe(error)));
    refusal_->show();
  }
}

}  // namespace trainyard

#include "app/desktop/dialogs/import_sheet.h"

#include <QDialogButtonBox>
#include <QLabel>
#include <QPushButton>
#include <QTextBrowser>
#include <QVBoxLayout>

#include "app/desktop/controls/text.h"
#include "app/desktop/controls/theme.h"
#include "app/desktop/controls/widgets.h"
#include "visualizers/viewmodel/format.h"

namespace trainyard {
namespace {

QString list_of(const QString& head, const std::vector<std::string>& items) {
  if (items.empty()) return "";
  QString html = "<p><b>" + head + "</b></p><ul>";
  for (const std::string& item : items) html += "<li>" + q(item).toHtmlEscaped() + "</li>";
  return html + "</ul>";
}

}  // namespace

ImportSheet::ImportSheet(const ImportedModel& imported, const QString& file, QWidget* parent)
    : QDialog(parent) {
  setAttribute(Qt::WA_DeleteOnClose);
  setWindowTitle("Import of " + file.section('/', -1));
  setMinimumSize(460, 320);
  const Model& model = imported.model;
  auto* column = new QVBoxLayout(this);
  column->setSpacing(8);
  const std::int64_t all = parameters(model), active = active_parameters(model);
  column->addWidget(
      make_label(q(model.name) + "   " + q(format_large(static_cast<double>(all))) + " params", 13,
                 QFont::DemiBold));
  auto* found = make_label(q(imported.report.sentence()), 12, QFont::Normal,
                           imported.report.unknown.empty() ? "ok" : "warn");
  found->setWordWrap(true);
  column->addWidget(found);
  QString html = QString("<p>%1 parameters exactly").arg(all);
  if (active != all) html += QString(", %1 active per token").arg(active);
  html += QString(". Family %1, %2 layers, sequence of %3.</p>")
              .arg(q(model.family).toHtmlEscaped())
              .arg(layer_count(model))
              .arg(model.sequence);
  html += list_of("Not known, and without effect", imported.report.unknown);
  html += list_of("Assumed", model.assumed);
  auto* story = new QTextBrowser;
  story->setHtml(html);
  story->setAccessibleName("What was read from the file");
  story->setFrameShape(QFrame::NoFrame);
  column->addWidget(story, 1);
  text_ = found->text() + '\n' + story->toPlainText();
  auto* buttons = new QDialogButtonBox;
  QPushButton* keep = buttons->addButton("Continue", QDialogButtonBox::AcceptRole);
  buttons->addButton("Cancel", QDialogButtonBox::RejectRole);
  for (QAbstractButton* button : buttons->buttons()) button->setAccessibleName(button->text());
  keep->setDefault(true);
  connect(buttons, &QDialogButtonBox::accepted, this, &QDialog::accept);
  connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
  column->addWidget(buttons);
}

}  // namespace trainyard

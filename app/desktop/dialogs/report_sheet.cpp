#include "app/desktop/dialogs/report_sheet.h"

#include <QLabel>
#include <QPushButton>
#include <QTextBrowser>
#include <QVBoxLayout>

#include "app/desktop/controls/text.h"
#include "app/desktop/controls/widgets.h"

namespace trainyard {
namespace {

QString capitalised(QString words) {
  if (!words.isEmpty()) words[0] = words[0].toUpper();
  return words;
}

// "Cherry-picked runs", of "cherry-picked-runs".
QString flaw_title(ReportFlaw flaw) {
  QString title = q(to_string(flaw));
  const bool picked = title.startsWith("cherry-picked-");
  title = title.mid(picked ? 14 : 0).replace('-', ' ');
  return capitalised(picked ? "cherry-picked " + title : title);
}

QString finding_html(const ReportFinding& found) {
  return QString("<p><b>%1</b>, %2<br>%3.<br>To do: %4.</p>")
      .arg(flaw_title(found.flaw), q(found.place).toHtmlEscaped(),
           capitalised(q(found.sentence)).toHtmlEscaped(), q(found.fix).toHtmlEscaped());
}

}  // namespace

ReportSheet::ReportSheet(const std::vector<ReportFinding>& findings, const QString& file,
                         QWidget* parent)
    : QDialog(parent) {
  setAttribute(Qt::WA_DeleteOnClose);
  const QString name = file.section('/', -1);
  setWindowTitle("Check of " + name);
  setMinimumSize(560, 420);
  auto* column = new QVBoxLayout(this);
  column->setSpacing(8);
  const auto count = static_cast<int>(findings.size());
  auto* head = make_label(
      count == 0 ? capitalised(q(kFlawlessReport)) + "."
                 : QString("%1 %2 in %3").arg(count).arg(count == 1 ? "flaw" : "flaws", name),
      13, QFont::DemiBold, count == 0 ? "ok" : "warn");
  head->setWordWrap(true);
  column->addWidget(head);
  QString html;
  for (const ReportFinding& found : findings) html += finding_html(found);
  auto* story = new QTextBrowser;
  story->setHtml(html);
  story->setAccessibleName("What the report leaves out or bends");
  story->setFrameShape(QFrame::NoFrame);
  story->setVisible(count > 0);
  column->addWidget(story, 1);
  text_ = head->text() + '\n' + story->toPlainText();
  add_closing_row(this, column);
}

}  // namespace trainyard

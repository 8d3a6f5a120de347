#include "app/desktop/scene/tip.h"

#include <algorithm>

#include "app/desktop/controls/theme.h"

namespace trainyard {
namespace {

constexpr std::size_t kTipLines = 4;

constexpr qsizetype kTipColumns = 72;  // characters of the longest line

// Breaks the text between words, so that no line has more than so many characters.
QString text_of(const std::string& text) {
  QString out;
  qsizetype column = 0;
  for (const QString& word : QString::fromStdString(text).split(' ')) {
    const bool breaks = column > 0 && column + 1 + word.size() > kTipColumns;
    if (column > 0) out += breaks ? "<br>" : " ";
    column = (breaks || column == 0 ? 0 : column + 1) + word.size();
    out += word.toHtmlEscaped();
  }
  return out;
}

}  // namespace

QString tip_html(const Hover& hover, const QString& keys) {
  const QString pale = qcolor(Ink::Text2, current_theme()).name();
  QString html = QString("<b>%1</b> <span style='color:%2'>%3</span>&nbsp;&nbsp;&nbsp;<b>%4</b>")
                     .arg(text_of(hover.title), pale, text_of(hover.where), text_of(hover.value));
  for (std::size_t i = 0; i < std::min(hover.lines.size(), kTipLines); ++i)
    html += QString("<br><span style='color:%1'>%2</span>").arg(pale, text_of(hover.lines[i]));
  if (!keys.isEmpty())
    html += QString("<br><span style='color:%1'>%2</span>")
                .arg(qcolor(Ink::Text3, current_theme()).name(), keys.toHtmlEscaped());
  return html;
}

}  // namespace trainyard

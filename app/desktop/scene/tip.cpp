#include "app/desktop/scene/tip.h"

#include <algorithm>

#include "app/desktop/controls/theme.h"

namespace trainyard {
namespace {

constexpr std::size_t kTipLines = 4;

QString text_of(const std::string& text) { return QString::fromStdString(text).toHtmlEscaped(); }

}  // namespace

QString tip_html(const Hover& hover) {
  const QString pale = qcolor(Ink::Text2, current_theme()).name();
  QString html = QString("<b>%1</b> <span style='color:%2'>%3</span>&nbsp;&nbsp;&nbsp;<b>%4</b>")
                     .arg(text_of(hover.title), pale, text_of(hover.where), text_of(hover.value));
  for (std::size_t i = 0; i < std::min(hover.lines.size(), kTipLines); ++i)
    html += QString("<br><span style='color:%1'>%2</span>").arg(pale, text_of(hover.lines[i]));
  return html + QString(
                    "<br><span style='color:%1'>click pins &nbsp; B next bubble &nbsp; C critical "
                    "path</span>")
                    .arg(qcolor(Ink::Text3, current_theme()).name());
}

}  // namespace trainyard

#include "app/desktop/shell/presentation.h"

#include <QApplication>
#include <QHeaderView>
#include <QVariant>
#include <QWidget>

#include <utility>
#include <vector>

#include "app/desktop/controls/canvas_widget.h"
#include "app/desktop/controls/theme.h"

namespace trainyard {
namespace {

constexpr const char* kScale = "scale that it has";

// The scale that the widget or the application has now; initially everything is made at 1.
double scale_of(const QObject& object, double otherwise) {
  const QVariant kept = object.property(kScale);
  return kept.isValid() ? kept.toDouble() : otherwise;
}

QSize times(QSize size, double factor) {
  const auto side = [&](int n) {
    return n >= QWIDGETSIZE_MAX ? n : static_cast<int>(n * factor + 0.5);
  };
  return {side(size.width()), side(size.height())};
}

void rescale(QWidget& widget, double factor) {
  const QSize least = times(widget.minimumSize(), factor);
  const QSize most = times(widget.maximumSize(), factor);
  widget.setMinimumSize(0, 0);
  widget.setMaximumSize(most);
  widget.setMinimumSize(least);
}

// A column is at least as wide as its name.
void widen_columns(QHeaderView& heads) {
  if (heads.orientation() != Qt::Horizontal || heads.model() == nullptr) return;
  for (int i = 0; i < heads.count(); ++i) {
    const QString name = heads.model()->headerData(i, Qt::Horizontal).toString();
    const int wanted = heads.fontMetrics().horizontalAdvance(name) + ui_pixels(16);
    if (heads.sectionResizeMode(i) == QHeaderView::Interactive && heads.sectionSize(i) < wanted)
      heads.resizeSection(i, wanted);
  }
}

}  // namespace

void follow_scale(QApplication& application, QWidget& window) {
  const double wanted = ui_scale(), before = scale_of(application, 1);
  application.setProperty(kScale, wanted);
  const QList<QWidget*> widgets = window.findChildren<QWidget*>();
  std::vector<std::pair<QWidget*, QFont>> fonts;
  for (QWidget* widget : widgets) {
    const double factor = wanted / scale_of(*widget, before);
    if (widget->testAttribute(Qt::WA_SetFont) && widget->font().pixelSize() > 0) {
      QFont font = widget->font();
      font.setPixelSize(static_cast<int>(font.pixelSize() * factor + 0.5));
      fonts.emplace_back(widget, font);
    }
    if (factor != 1) rescale(*widget, factor);
    widget->setProperty(kScale, wanted);
  }
  // The sheet has sizes of its own and removes fonts that were set on widgets.
  apply_theme(application, current_theme());
  for (auto& [widget, font] : fonts) widget->setFont(font);
  for (QWidget* widget : widgets) {
    if (auto* canvas = qobject_cast<CanvasWidget*>(widget)) canvas->refresh();
    if (auto* heads = qobject_cast<QHeaderView*>(widget)) widen_columns(*heads);
  }
}

}  // namespace trainyard

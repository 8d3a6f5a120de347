#include "app/desktop/presentation.h"

#include <QApplication>
#include <QVariant>
#include <QWidget>

#include "app/desktop/canvas_widget.h"
#include "app/desktop/theme.h"

namespace trainyard {
namespace {

constexpr const char* kScale = "scale that it has";

// What the widget has by now; widgets made before the first change were made at 1.
double scale_of(const QWidget& widget) {
  const QVariant kept = widget.property(kScale);
  return kept.isValid() ? kept.toDouble() : 1;
}

QSize times(QSize size, double factor) {
  const auto side = [&](int n) {
    return n >= QWIDGETSIZE_MAX ? n : static_cast<int>(n * factor + 0.5);
  };
  return {side(size.width()), side(size.height())};
}

void rescale(QWidget& widget, double factor) {
  if (widget.testAttribute(Qt::WA_SetFont) && widget.font().pixelSize() > 0) {
    QFont font = widget.font();
    font.setPixelSize(static_cast<int>(font.pixelSize() * factor + 0.5));
    widget.setFont(font);
  }
  const QSize least = times(widget.minimumSize(), factor);
  const QSize most = times(widget.maximumSize(), factor);
  widget.setMinimumSize(0, 0);
  widget.setMaximumSize(most);
  widget.setMinimumSize(least);
}

}  // namespace

void follow_scale(QApplication& application, QWidget& window) {
  const double wanted = ui_scale();
  for (QWidget* widget : window.findChildren<QWidget*>()) {
    const double factor = wanted / scale_of(*widget);
    if (factor != 1) rescale(*widget, factor);
    widget->setProperty(kScale, wanted);
    if (auto* canvas = qobject_cast<CanvasWidget*>(widget)) canvas->refresh();
  }
  apply_theme(application, current_theme());
}

}  // namespace trainyard

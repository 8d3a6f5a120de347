#include "app/desktop/controls/control_style.h"

#include <QPainter>
#include <QStyleOption>

#include "app/desktop/controls/icons.h"
#include "app/desktop/controls/theme_colours.h"

namespace trainyard {
namespace {

void draw_check(QPainter& p, const QStyleOption& option) {
  const Theme theme = current_theme();
  const bool on = option.state & QStyle::State_On;
  const bool enabled = option.state & QStyle::State_Enabled;
  const QRectF box = QRectF(option.rect).adjusted(0.5, 0.5, -0.5, -0.5);
  p.save();
  p.setRenderHint(QPainter::Antialiasing);
  p.setPen(QPen(qcolor(on && enabled ? Ink::Accent : Ink::BorderStrong, theme), 1));
  p.setBrush(qcolor(on && enabled ? Ink::Accent : Ink::Input, theme));
  p.drawRoundedRect(box, 3, 3);
  if (on) {
    p.setPen(QPen(qcolor(enabled ? Ink::OnAccent : Ink::Text3, theme), 1.6, Qt::SolidLine,
                  Qt::RoundCap, Qt::RoundJoin));
    const QPointF o = box.topLeft();
    p.drawPolyline(QPolygonF{o + QPointF(3, 6.8), o + QPointF(5.5, 9.4), o + QPointF(10.2, 3.9)});
  }
  if (option.state & QStyle::State_HasFocus) {
    p.setPen(QPen(qcolor(Ink::Accent, theme), 2));
    p.setBrush(Qt::NoBrush);
    p.drawRoundedRect(box.adjusted(-2, -2, 2, 2), 4, 4);
  }
  p.restore();
}

void draw_branch(QPainter& p, const QStyleOption& option) {
  if (!(option.state & QStyle::State_Children)) return;
  const QString name = option.state & QStyle::State_Open ? "chevron-down" : "chevron-right";
  const QRect r = option.rect;
  draw_icon(p, name, QRectF(r.right() - 13, r.center().y() - 6, 13, 13),
            qcolor(Ink::Text2, current_theme()));
}

}  // namespace

ControlStyle::ControlStyle() : QProxyStyle("Fusion") {}

void ControlStyle::drawPrimitive(PrimitiveElement element, const QStyleOption* option,
                                 QPainter* painter, const QWidget* widget) const {
  switch (element) {
    case PE_IndicatorCheckBox:
    case PE_IndicatorItemViewItemCheck:
      return draw_check(*painter, *option);
    case PE_IndicatorBranch:
      return draw_branch(*painter, *option);
    case PE_IndicatorArrowDown:
    case PE_IndicatorArrowUp:
    case PE_IndicatorHeaderArrow: {
      const auto* header = qstyleoption_cast<const QStyleOptionHeader*>(option);
      const bool up = element == PE_IndicatorArrowUp ||
                      (header != nullptr && header->sortIndicator == QStyleOptionHeader::SortUp);
      return draw_icon(*painter, up ? "chevron-up" : "chevron-down", option->rect,
                       qcolor(Ink::Text2, current_theme()));
    }
    case PE_FrameFocusRect:
      return;  // controls draw their own focus ring
    default:
      return QProxyStyle::drawPrimitive(element, option, painter, widget);
  }
}

int ControlStyle::pixelMetric(PixelMetric metric, const QStyleOption* option,
                              const QWidget* widget) const {
  switch (metric) {
    case PM_IndicatorWidth:
    case PM_IndicatorHeight:
      return 14;
    case PM_DockWidgetSeparatorExtent:
      return 1;
    case PM_ToolBarItemSpacing:
    case PM_ToolBarItemMargin:
    case PM_ToolBarFrameWidth:
      return 0;
    case PM_SmallIconSize:
    case PM_ButtonIconSize:
      return 16;
    case PM_MessageBoxIconSize:
      return 24;
    case PM_HeaderMarkSize:
      return 10;
    default:
      return QProxyStyle::pixelMetric(metric, option, widget);
  }
}

int ControlStyle::styleHint(StyleHint hint, const QStyleOption* option, const QWidget* widget,
                            QStyleHintReturn* data) const {
  switch (hint) {
    case SH_UnderlineShortcut:
      return 0;
    case SH_ComboBox_Popup:
    case SH_DialogButtonBox_ButtonsHaveIcons:
      return 0;
    case SH_Menu_MouseTracking:
      return 1;
    default:
      return QProxyStyle::styleHint(hint, option, widget, data);
  }
}

QIcon ControlStyle::standardIcon(StandardPixmap sign, const QStyleOption* option,
                                 const QWidget* widget) const {
  const Theme theme = current_theme();
  switch (sign) {
    case SP_MessageBoxWarning:
      return icon("warning", qcolor(Ink::Warn, theme));
    case SP_MessageBoxCritical:
      return icon("error", qcolor(Ink::Error, theme));
    case SP_MessageBoxInformation:
    case SP_MessageBoxQuestion:
      return icon("info", qcolor(Ink::Accent, theme));
    default:
      return QProxyStyle::standardIcon(sign, option, widget);
  }
}

}  // namespace trainyard

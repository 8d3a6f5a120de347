#include "app/desktop/controls/theme.h"

#include <QApplication>
#include <QFontDatabase>
#include <QPalette>
#include <QRegularExpression>
#include <QWidget>

#include <algorithm>

#include "app/desktop/controls/control_style.h"

namespace trainyard {
namespace {

double& scale_in_use() {
  static double scale = 1;
  return scale;
}

int scaled(double pixels) { return static_cast<int>(pixels * scale_in_use() + 0.5); }

// Scales every size in the sheet that is in pixels.
QString scaled_sheet(const QString& sheet) {
  static const QRegularExpression size("(\\d+)px");
  QString out;
  qsizetype done = 0;
  for (auto at = size.globalMatch(sheet); at.hasNext();) {
    const QRegularExpressionMatch match = at.next();
    out += sheet.mid(done, match.capturedStart() - done) +
           QString::number(scaled(match.captured(1).toDouble())) + "px";
    done = match.capturedEnd();
  }
  return out + sheet.mid(done);
}

QString first_family(const QStringList& wanted) {
  const QStringList present = QFontDatabase::families();
  for (const QString& family : wanted)
    if (present.contains(family)) return family;
  return wanted.last();
}

QPalette palette_of(Theme theme) {
  QPalette p;
  const auto set = [&](QPalette::ColorRole role, Ink ink) { p.setColor(role, qcolor(ink, theme)); };
  set(QPalette::Window, Ink::Window);
  set(QPalette::WindowText, Ink::Text);
  set(QPalette::Base, Ink::Panel);
  set(QPalette::AlternateBase, Ink::RowAlternate);
  set(QPalette::Text, Ink::Text);
  set(QPalette::Button, Ink::Raised);
  set(QPalette::ButtonText, Ink::Text);
  set(QPalette::BrightText, Ink::Text);
  set(QPalette::Highlight, Ink::AccentBackground);
  set(QPalette::HighlightedText, Ink::Text);
  set(QPalette::ToolTipBase, Ink::TipBackground);
  set(QPalette::ToolTipText, Ink::Text);
  set(QPalette::PlaceholderText, Ink::Text3);
  set(QPalette::Link, Ink::Accent);
  for (const QPalette::ColorRole role :
       {QPalette::WindowText, QPalette::Text, QPalette::ButtonText})
    p.setColor(QPalette::Disabled, role, qcolor(Ink::Axis, theme));
  return p;
}

}  // namespace

QFont ui_font(double pixels, QFont::Weight weight) {
  static const QString family = first_family({"Inter", "DejaVu Sans"});
  QFont font(family);
  font.setPixelSize(scaled(pixels));
  font.setWeight(weight);
  return font;
}

QFont code_font(double pixels) {
  static const QString family = first_family({"JetBrains Mono", "DejaVu Sans Mono"});
  QFont font(family);
  font.setPixelSize(scaled(pixels));
  return font;
}

double ui_scale() { return scale_in_use(); }

int ui_pixels(double pixels) { return scaled(pixels); }

void set_ui_scale(double scale) { scale_in_use() = scale; }

Theme system_theme() {
  return QPalette().color(QPalette::Window).lightness() < 128 ? Theme::Dark : Theme::Light;
}

void apply_theme(QApplication& application, Theme theme) {
  set_current_theme(theme);
  if (qobject_cast<ControlStyle*>(QApplication::style()) == nullptr)
    QApplication::setStyle(new ControlStyle);
  QApplication::setFont(ui_font(12));
  QApplication::setPalette(palette_of(theme));
  application.setStyleSheet(ui_scale() == 1 ? style_sheet(theme)
                                            : scaled_sheet(style_sheet(theme)));
}

SheetAtOnce::SheetAtOnce() {
  const QWidgetList all = QApplication::allWidgets();
  // Removing a sheet also removes fonts that were set on widgets with that sheet.
  const bool seen = std::any_of(all.begin(), all.end(), [](const QWidget* widget) {
    return widget->testAttribute(Qt::WA_WState_Polished);
  });
  if (seen) return;
  sheet_ = qApp->styleSheet();
  qApp->setStyleSheet({});
}

SheetAtOnce::~SheetAtOnce() {
  if (!sheet_.isEmpty()) qApp->setStyleSheet(sheet_);
}

}  // namespace trainyard

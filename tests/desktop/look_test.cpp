// Tests the look of every screen, in both themes and at the sizes of common screens: nothing is cut
// off, no two texts lie on each other, none speaks the command line's language, every widget that
// takes the focus has a name, and the Tab key leaves every canvas. ctest repeats these tests at
// common screen scales.
#include <gtest/gtest.h>

#include <QAccessible>
#include <QApplication>
#include <QHeaderView>
#include <QKeyEvent>
#include <QLabel>
#include <QRegularExpression>
#include <QScrollArea>
#include <QTabBar>
#include <QTextDocumentFragment>
#include <QToolButton>
#include <cmath>
#include <map>
#include <vector>

#include "app/desktop/controls/canvas_widget.h"
#include "app/desktop/controls/page.h"
#include "app/desktop/controls/theme.h"
#include "app/desktop/controls/widgets.h"
#include "app/desktop/shell/perspective.h"
#include "tests/desktop/support.h"
#include "tests/support/non_empty.h"

namespace trainyard {
namespace {

std::string told(const QWidget* widget, const QString& text) {
  return std::string(widget->metaObject()->className()) + " \"" + text.left(60).toStdString() +
         "\" in " +
         (widget->parentWidget() == nullptr ? ""
                                            : widget->parentWidget()->metaObject()->className());
}

// Returns whether the rest of the widget can be reached by scrolling.
bool scrolls(const QWidget* widget) {
  for (const QWidget* up = widget->parentWidget(); up != nullptr; up = up->parentWidget())
    if (qobject_cast<const QAbstractScrollArea*>(up) != nullptr) return true;
  return false;
}

// One point of tolerance for rounding in styles.
constexpr int kSlack = 2;

void expect_whole(const QWidget& window) {
  for (const QLabel* label : window.findChildren<QLabel*>()) {
    // Some labels must be elided; they show the rest in a tooltip.
    if (!label->isVisible() || label->text().isEmpty() || label->wordWrap() || scrolls(label) ||
        qobject_cast<const ElidedLabel*>(label) != nullptr)
      continue;
    EXPECT_GE(label->width() + kSlack, label->sizeHint().width()) << told(label, label->text());
  }
  for (const QAbstractButton* button : window.findChildren<QAbstractButton*>()) {
    if (!button->isVisible() || button->text().isEmpty() || scrolls(button)) continue;
    const auto* tool = qobject_cast<const QToolButton*>(button);
    if (tool != nullptr && tool->toolButtonStyle() == Qt::ToolButtonIconOnly) continue;
    const int words = button->fontMetrics().size(Qt::TextShowMnemonic, button->text()).width();
    const bool padded = tool != nullptr && tool->parentWidget()->objectName() == "segment";
    EXPECT_GE(button->width() + kSlack, padded ? button->sizeHint().width() : words)
        << told(button, button->text());
  }
}

// Names of tabs and columns; what lies beyond the edge can be scrolled to.
void expect_whole_heads(const QWidget& window) {
  for (const QTabBar* tabs : window.findChildren<QTabBar*>()) {
    if (!tabs->isVisible()) continue;
    for (int i = 0; i < tabs->count(); ++i)
      EXPECT_TRUE(!tabs->isTabVisible(i) || tabs->rect().contains(tabs->tabRect(i)))
          << told(tabs, tabs->tabText(i));
  }
  for (const QHeaderView* heads : window.findChildren<QHeaderView*>()) {
    if (!heads->isVisible() || heads->orientation() != Qt::Horizontal) continue;
    for (int i = 0; i < heads->count(); ++i) {
      const QString text = heads->model()->headerData(i, Qt::Horizontal).toString();
      if (heads->isSectionHidden(i) || text.isEmpty()) continue;
      EXPECT_GE(heads->sectionSize(i) + kSlack, heads->fontMetrics().horizontalAdvance(text))
          << told(heads, text) << " of " << heads->parentWidget()->accessibleName().toStdString();
    }
  }
}

// Labels and buttons beside each other; what is a child of another lies on it rightly.
void expect_apart(const QWidget& window) {
  std::map<const QWidget*, std::vector<const QWidget*>> beside;
  for (const QWidget* widget : window.findChildren<QWidget*>()) {
    const auto* label = qobject_cast<const QLabel*>(widget);
    const auto* button = qobject_cast<const QAbstractButton*>(widget);
    if (!widget->isVisible() || (label == nullptr && button == nullptr)) continue;
    if ((label != nullptr ? label->text() : button->text()).isEmpty()) continue;
    for (const QWidget* other : beside[widget->parentWidget()])
      EXPECT_FALSE(other->geometry().intersects(widget->geometry()))
          << told(widget, label != nullptr ? label->text() : button->text()) << " on "
          << told(other, other->accessibleName());
    beside[widget->parentWidget()].push_back(widget);
  }
}

// Flags, places in documents, and knobs with values are the command line's words.
void expect_plain_words(const QWidget& window) {
  static const QRegularExpression typed("(^|\\s)--[a-z]|#/|\\b[a-z]+(-[a-z]+)*=[a-z0-9]");
  for (const QWidget* widget : window.findChildren<QWidget*>()) {
    if (!widget->isVisible()) continue;
    const auto* label = qobject_cast<const QLabel*>(widget);
    const auto* button = qobject_cast<const QAbstractButton*>(widget);
    QString text = label != nullptr    ? label->text()
                   : button != nullptr ? button->text()
                                       : QString();
    if (Qt::mightBeRichText(text)) text = QTextDocumentFragment::fromHtml(text).toPlainText();
    EXPECT_FALSE(typed.match(text).hasMatch()) << told(widget, text);
  }
}

void expect_names(const QWidget& window) {
  for (QWidget* widget : window.findChildren<QWidget*>()) {
    // The parts of Qt's compound fields are described by the field's name.
    if (!widget->isVisible() || (widget->focusPolicy() & Qt::TabFocus) == 0 ||
        widget->objectName().startsWith("qt_"))
      continue;
    QAccessibleInterface* face = QAccessible::queryAccessibleInterface(widget);
    const bool named = !widget->accessibleName().isEmpty() ||
                       (face != nullptr && !face->text(QAccessible::Name).isEmpty());
    EXPECT_TRUE(named) << told(widget, widget->objectName());
  }
}

// Checks that there is exactly one device pixel for every pixel of the screen.
void expect_sharp(const QWidget& window) {
  for (CanvasWidget* canvas : window.findChildren<CanvasWidget*>()) {
    if (!canvas->isVisible() || canvas->width() == 0 || canvas->height() == 0) continue;
    const double scale = canvas->devicePixelRatioF();
    const QImage image = canvas->grab().toImage();
    EXPECT_NEAR(image.width(), canvas->width() * scale, 1) << told(canvas, {});
    ASSERT_NE(canvas->drawing(), nullptr);
    EXPECT_NEAR(canvas->drawing()->size.width, canvas->width(), 1) << told(canvas, {});
  }
}

// Calls with() on each tab of each perspective, in both themes.
template <class With>
void on_every_screen(Window& window, const With& with) {
  auto& application = *static_cast<QApplication*>(QApplication::instance());
  const Theme before = current_theme();
  for (const Theme theme : {Theme::Dark, Theme::Light}) {
    apply_theme(application, theme);
    for (const Perspective& p : perspectives()) {
      window.actions_of()[QString("view.") + p.id]->trigger();
      std::vector<const char*> tabs(p.tabs.begin(), p.tabs.end());
      if (tabs.empty()) tabs.push_back("");
      for (const char* tab : tabs) {
        if (*tab != 0) window.actions_of()[QString("view.") + tab]->trigger();
        ASSERT_TRUE(happens([&] { return window.settled(); })) << p.id << " " << tab;
        SCOPED_TRACE(std::string(p.id) + " " + tab + (theme == Theme::Dark ? " dark" : " light"));
        with();
      }
    }
  }
  apply_theme(application, before);
}

TEST(Look, EveryScreenIsWholeNamedAndSharp) {
  const auto window = window_with(small_plan());
  on_every_screen(*window, [&] {
    expect_whole(*window);
    expect_names(*window);
    expect_sharp(*window);
  });
}

TEST(Look, EveryTextIsWholeApartAndPlainAtEverySize) {
  for (const QSize size : {QSize(1280, 800), QSize(1440, 900), QSize(1600, 1000)}) {
    SCOPED_TRACE(std::to_string(size.width()));
    const auto window = window_with(small_plan());
    window->resize(size);
    on_every_screen(*window, [&] {
      expect_whole(*window);
      expect_whole_heads(*window);
      expect_apart(*window);
      expect_plain_words(*window);
    });
  }
}

TEST(Look, APresentationCutsNoText) {
  const auto window = window_with(small_plan());
  window->resize(1440, 900);
  window->actions_of()["view.presentation"]->trigger();
  ASSERT_TRUE(happens([&] { return window->settled(); }));
  for (const char* tab : {"timeline", "plans", "runs"}) {
    SCOPED_TRACE(tab);
    window->show_tab(tab);
    ASSERT_TRUE(happens([&] { return window->settled(); }));
    expect_whole(*window);
    expect_whole_heads(*window);
  }
  window->actions_of()["view.presentation"]->trigger();
}

TEST(Look, TabLeavesEveryCanvas) {
  const auto window = window_with(small_plan());
  window->activateWindow();
  on_every_screen(*window, [&] {
    for (CanvasWidget* canvas : testing::non_empty(window->findChildren<CanvasWidget*>())) {
      if (!canvas->isVisible() || (canvas->focusPolicy() & Qt::TabFocus) == 0) continue;
      canvas->setFocus(Qt::TabFocusReason);
      if (QApplication::focusWidget() != canvas) continue;
      QKeyEvent press(QEvent::KeyPress, Qt::Key_Tab, Qt::NoModifier);
      QApplication::sendEvent(canvas, &press);
      EXPECT_NE(QApplication::focusWidget(), canvas) << canvas->accessibleName().toStdString();
    }
  });
}

}  // namespace
}  // namespace trainyard

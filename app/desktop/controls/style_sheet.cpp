#include <QRegularExpression>

#include "app/desktop/controls/theme.h"

namespace trainyard {
namespace {

// @name is a colour of the palette. Sizes follow the tokens: radius 3, fields 22, buttons 26, rows
// 21 and 23.
constexpr const char* kSheet = R"(
* { outline: 0; }
QMainWindow, QDialog { background: @window; }
QMainWindow::separator { background: @border; width: 1px; height: 1px; }
QMainWindow::separator:hover { background: @accent; }
QSplitter::handle { background: @border; }
QSplitter::handle:hover { background: @accent; }

QMenuBar { background: @chrome; border-bottom: 1px solid @border; }
QMenuBar::item { padding: 5px 8px; background: transparent; color: @text; border-radius: 3px; }
QMenuBar::item:selected { background: @hover; }
QMenu { background: @raised; border: 1px solid @borderStrong; padding: 4px; }
QMenu::item { padding: 4px 24px 4px 20px; border-radius: 2px; }
QMenu::item:selected { background: @accentBg; color: @text; }
QMenu::item:disabled { color: @text3; }
QMenu::separator { height: 1px; background: @border; margin: 4px 6px; }

QToolBar { background: @chrome; border: 0; border-bottom: 1px solid @border; padding: 0; spacing: 0; }
QStatusBar { background: @chrome; border-top: 1px solid @border; }
QStatusBar::item { border: 0; }
QStatusBar QLabel { color: @text2; }

QDockWidget { background: @panel; }
QWidget#panel, QScrollArea#panel, QScrollArea#panel > QWidget > QWidget { background: @panel; }
QWidget#page { background: @window; }
QWidget#canvas { background: @canvas; }
QWidget#header { background: @header; border-bottom: 1px solid @border; }
QWidget#section { background: @header; border-top: 1px solid @border; border-bottom: 1px solid @border; }
QFrame#rule { background: @border; }
QFrame#card { background: @panel; border: 0; border-bottom: 1px solid @border; }

QLabel { background: transparent; }
QLabel[tone="second"] { color: @text2; }
QLabel[tone="third"] { color: @text3; }
QLabel[tone="ok"] { color: @ok; }
QLabel[tone="warn"] { color: @warn; }
QLabel[tone="error"] { color: @error; }
QLabel[role="chip"] { border-radius: 2px; padding: 0 6px; min-height: 18px; max-height: 18px; }
QLabel[role="chip"][tone="plain"] { border: 1px solid @borderStrong; color: @text2; min-height: 16px; max-height: 16px; }
QLabel[role="chip"][tone="ok"] { background: @okBg; color: @ok; }
QLabel[role="chip"][tone="warn"] { background: @warnBg; color: @warn; }
QLabel[role="chip"][tone="error"] { background: @errorBg; color: @error; }
QLabel[role="key"] { border: 1px solid @borderStrong; border-radius: 3px; padding: 0 4px; color: @text2; }
QLabel#tooltip { background: @tipBg; border: 1px solid @borderStrong; padding: 8px 10px; color: @text; }
QToolTip { background: @tipBg; color: @text; border: 1px solid @borderStrong; padding: 4px 6px; }

QPushButton { background: @raised; color: @text; border: 1px solid @borderStrong; border-radius: 3px;
              padding: 0 10px; min-height: 24px; max-height: 24px; font-weight: 500; }
QPushButton:hover { background: @hover; }
QPushButton:pressed { background: @input; }
QPushButton:focus { border: 2px solid @accent; padding: 0 9px; min-height: 22px; max-height: 22px; }
QPushButton:disabled { color: @axis; border-color: @border; background: @panel; }
QPushButton[kind="primary"] { background: @accent; color: @onAccent; border-color: @accent; font-weight: 600; }
QPushButton[kind="primary"]:hover { background: @accentText; }
QPushButton[kind="primary"]:focus { border: 2px solid @text; }
QPushButton[kind="primary"]:disabled { background: @raised; color: @axis; border-color: @border; }
QPushButton[kind="small"] { min-height: 20px; max-height: 20px; padding: 0 8px; }
QPushButton[kind="small"]:focus { min-height: 18px; max-height: 18px; padding: 0 7px; }
QPushButton[kind="search"] { min-height: 20px; max-height: 20px; padding: 0 8px; background: @input; color: @text3;
                             text-align: left; font-weight: 400; }
QPushButton[kind="search"]:focus { min-height: 18px; max-height: 18px; padding: 0 7px; }
QPushButton[kind="choice"] { text-align: left; min-height: 30px; padding: 0 12px; background: @input; }
QPushButton[kind="choice"]:checked { background: @accentBg; color: @accentText; border-color: @accent; }
QPushButton[kind="step"] { text-align: left; min-height: 24px; padding: 0 8px; background: transparent; border: 1px solid transparent; }
QPushButton[kind="step"]:hover { background: @hover; }
QPushButton[kind="step"]:focus { border: 1px solid @accent; }
QPushButton[kind="tile"] { min-height: 60px; max-height: 60px; padding: 0; }
QPushButton[kind="tile"]:focus { min-height: 58px; max-height: 58px; padding: 0; }

QToolButton { background: transparent; border: 1px solid transparent; border-radius: 3px; padding: 2px; color: @text; }
QToolButton:hover { background: @hover; }
QToolButton:focus { border-color: @accent; }
QToolButton:disabled { color: @axis; }
QWidget#segment { background: @input; border: 1px solid @borderStrong; border-radius: 3px; }
QToolButton#more-tabs::menu-indicator { image: none; }
QWidget#segment QToolButton { border-radius: 0; padding: 0 12px; min-height: 24px; max-height: 24px; color: @text2; border: 0;
                              border-right: 1px solid @border; }
QWidget#segment QToolButton:last-child { border-right: 0; }
QWidget#segment QToolButton:checked { background: @accentBg; color: @accentText; font-weight: 600;
                                      border-bottom: 2px solid @accent; min-height: 22px; }
QWidget#segment QToolButton:focus { border-bottom: 2px solid @text; min-height: 22px; }

QLineEdit { background: @input; color: @text; border: 1px solid @borderStrong; border-radius: 3px; padding: 0 6px;
            min-height: 20px; selection-background-color: @accent; selection-color: @onAccent; }
QLineEdit:focus { border: 1px solid @accent; }
QLineEdit:disabled { color: @text3; border-color: @border; }
QWidget#stepper { background: @input; border: 1px solid @borderStrong; border-radius: 3px; }
QWidget#stepper[tone="error"] { border: 1px solid @error; background: @errorBg; }
QWidget#stepper QLineEdit { border: 0; border-left: 1px solid @border; border-right: 1px solid @border; border-radius: 0;
                            font-weight: 600; padding: 0 2px; }
QWidget#stepper QLineEdit:focus { background: @accentBg; }
QWidget#stepper QToolButton { border: 0; border-radius: 0; background: @raised; padding: 0; }
QWidget#stepper QToolButton:hover { background: @hover; }
QWidget#stepper QToolButton:focus { background: @accentBg; }
QComboBox QAbstractItemView { background: @raised; border: 1px solid @borderStrong; selection-background-color: @accentBg;
                              selection-color: @text; padding: 2px; }

QTabBar { background: @header; }
QTabBar::tab { background: transparent; color: @text2; padding: 0 12px; min-height: 26px; max-height: 26px; border: 0;
               border-top: 2px solid transparent; border-right: 1px solid @border; }
QTabBar::tab:selected { color: @text; font-weight: 600; background: @panel; border-top: 2px solid @accent; }
QTabBar::tab:hover { color: @text; }
QTabBar::tab:focus { color: @accentText; }

QTreeView, QTableView, QTreeWidget, QTableWidget { background: @panel; alternate-background-color: @rowalt; border: 0;
              color: @text; selection-background-color: @accentBg; selection-color: @text; }
QTreeView::item { border: 0; padding: 0 2px; }
QTreeView::item:selected, QTableView::item:selected { background: @accentBg; color: @text; }
QTreeView::item:hover:!selected { background: @hover; }
QTreeView:focus { border-top: 1px solid @accent; }
QHeaderView { background: @header; }
QHeaderView::section { background: @header; color: @text2; border: 0; border-bottom: 1px solid @border; padding: 0 8px;
                       font-size: 11px; font-weight: 500; }
QListView { background: @panel; border: 1px solid @border; }

QToolButton#value { background: transparent; border: 1px solid @borderStrong; border-radius: 2px; padding: 0 4px; color: @text3; }
QToolButton#value:hover { background: @hover; }
QToolButton#value:checked { background: @accentBg; border-color: @accentBg; color: @accentText; }
QToolButton#value[own="true"] { border-bottom: 2px solid @accent; }
QToolButton#value:focus { border-color: @accent; }
QProgressBar { background: @raised; border: 0; border-radius: 2px; }
QProgressBar::chunk { background: @accent; border-radius: 2px; }

QScrollBar:vertical { background: transparent; width: 9px; margin: 0; }
QScrollBar:horizontal { background: transparent; height: 9px; margin: 0; }
QScrollBar::handle { background: @borderStrong; border-radius: 3px; min-height: 24px; min-width: 24px; margin: 1px; }
QScrollBar::handle:hover { background: @text3; }
QScrollBar::add-line, QScrollBar::sub-line { width: 0; height: 0; }
QScrollBar::add-page, QScrollBar::sub-page { background: transparent; }
)";

struct Name {
  const char* name;
  Ink ink;
};
constexpr Name kNames[] = {
    {"window", Ink::Window},
    {"chrome", Ink::Chrome},
    {"panel", Ink::Panel},
    {"canvas", Ink::Canvas},
    {"header", Ink::Header},
    {"raised", Ink::Raised},
    {"hover", Ink::Hover},
    {"input", Ink::Input},
    {"rowalt", Ink::RowAlternate},
    {"border", Ink::Border},
    {"borderStrong", Ink::BorderStrong},
    {"axis", Ink::Axis},
    {"text", Ink::Text},
    {"text2", Ink::Text2},
    {"text3", Ink::Text3},
    {"accent", Ink::Accent},
    {"accentBg", Ink::AccentBackground},
    {"accentText", Ink::AccentText},
    {"onAccent", Ink::OnAccent},
    {"ok", Ink::Ok},
    {"okBg", Ink::OkBackground},
    {"warn", Ink::Warn},
    {"warnBg", Ink::WarnBackground},
    {"error", Ink::Error},
    {"errorBg", Ink::ErrorBackground},
    {"tipBg", Ink::TipBackground},
};

QString hex_of(QStringView name, Theme theme) {
  for (const Name& entry : kNames)
    if (name == QLatin1String(entry.name)) return qcolor(entry.ink, theme).name();
  return "#ff00ff";  // conspicuous; a test looks for it
}

}  // namespace

QString style_sheet(Theme theme) {
  static const QRegularExpression placeholder("@([A-Za-z0-9]+)");
  const QString sheet = kSheet;
  QString out;
  qsizetype end = 0;
  for (auto match = placeholder.globalMatch(sheet); match.hasNext();) {
    const QRegularExpressionMatch m = match.next();
    out += QStringView(sheet).mid(end, m.capturedStart() - end);
    out += hex_of(m.capturedView(1), theme);
    end = m.capturedEnd();
  }
  out += QStringView(sheet).mid(end);
  return out;
}

}  // namespace trainyard

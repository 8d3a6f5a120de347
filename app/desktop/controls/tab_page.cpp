#include "app/desktop/controls/tab_page.h"

#include <QHBoxLayout>
#include <QMenu>
#include <QStackedWidget>
#include <QTabBar>
#include <QToolButton>
#include <QVBoxLayout>

#include <algorithm>

#include "app/desktop/controls/theme.h"
#include "app/desktop/controls/widgets.h"

namespace trainyard {

// A row of tabs that says how wide a tab is; 0 for a hidden one.
class TabStrip : public QTabBar {
 public:
  int width_of(int tab) const {
    if (!isTabVisible(tab)) return 0;
    // The current tab is bold: room for it is left at each, so that choosing one moves no other.
    QFont bold = font();
    bold.setWeight(QFont::DemiBold);
    return tabSizeHint(tab).width() + QFontMetrics(bold).horizontalAdvance(tabText(tab)) -
           fontMetrics().horizontalAdvance(tabText(tab));
  }
};

TabPage::TabPage(const QString& accessible_name, QWidget* parent)
    : Page(parent), tabs_(new TabStrip), more_(new QToolButton), pages_(new QStackedWidget) {
  setObjectName("page");
  setAttribute(Qt::WA_StyledBackground);
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  QHBoxLayout* row = add_bar(column);
  row->setContentsMargins(0, 0, 0, 0);
  row->setSpacing(0);
  tabs_->setDrawBase(false);
  tabs_->setExpanding(false);
  tabs_->setUsesScrollButtons(false);
  tabs_->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
  tabs_->setAccessibleName(accessible_name);
  more_->setObjectName("more-tabs");
  more_->setAccessibleName("More tabs");
  more_->setToolTip("The tabs for which there is no room");
  more_->setPopupMode(QToolButton::InstantPopup);
  more_->setMenu(new QMenu(more_));
  more_->hide();
  row->addWidget(tabs_, 1);
  row->addWidget(more_);
  column->addWidget(pages_, 1);
  connect(more_->menu(), &QMenu::aboutToShow, this, [this] {
    more_->menu()->clear();
    for (const int tab : beyond_)
      more_->menu()->addAction(tabs_->tabText(tab), this,
                               [this, tab] { tabs_->setCurrentIndex(tab); });
  });
  connect(tabs_, &QTabBar::currentChanged, this, [this](int index) {
    pages_->setCurrentIndex(index);
    fit();
    Q_EMIT turned();
  });
}

// Hides the tabs for which there is no room, the last first, and lists them in the button's menu:
// a strip that scrolls cuts a name at its edge and says nothing of the rest.
void TabPage::fit() {
  const auto open = [this](int tab) { return !closed_.contains(tab); };
  int needed = 0;
  for (int i = 0; i < tabs_->count(); ++i) {
    tabs_->setTabVisible(i, open(i));  // a hidden tab has no width
    needed += tabs_->width_of(i);
  }
  int room = width();
  if (needed > room) {
    more_->setText(QString::fromUtf8("%1 more…").arg(tabs_->count()));  // as wide as it may become
    room -= more_->sizeHint().width();
  }
  const int current = tabs_->currentIndex();
  if (current >= 0) room -= tabs_->width_of(current);
  beyond_.clear();
  for (int i = 0; i < tabs_->count(); ++i) {
    if (i == current || !open(i)) continue;
    room -= tabs_->width_of(i);
    if (room < 0) beyond_ << i;
    tabs_->setTabVisible(i, room >= 0);
  }
  more_->setText(QString::fromUtf8("%1 more…").arg(beyond_.size()));
  more_->setVisible(!beyond_.isEmpty());
}

void TabPage::resizeEvent(QResizeEvent* event) {
  Page::resizeEvent(event);
  fit();
}

bool TabPage::close_tab() {
  if (tabs_->count() - closed_.size() < 2) return false;
  const int closed = tabs_->currentIndex();
  closed_ << closed;
  for (int step = 1; step < tabs_->count(); ++step) {
    const int next = (closed + step) % tabs_->count();
    if (closed_.contains(next)) continue;
    tabs_->setTabVisible(next, true);
    tabs_->setCurrentIndex(next);
    return true;
  }
  return true;
}

bool TabPage::reopen_tab() {
  if (closed_.isEmpty()) return false;
  show_tab(tabs_->tabText(closed_.last()).toLower());
  return true;
}

void TabPage::add(const QString& title, Page* page) {
  list_ << page;
  pages_->addWidget(page);
  connect(page, &Page::turned, this, &Page::turned);
  tabs_->addTab(title);
  fit();
}

Page* TabPage::current_page() const { return list_.value(tabs_->currentIndex()); }

QList<CanvasWidget*> TabPage::canvases() const {
  QList<CanvasWidget*> all;
  for (const Page* page : list_) all << page->canvases();
  return all;
}

bool TabPage::settled() const {
  return std::all_of(list_.begin(), list_.end(), [](const Page* page) { return page->settled(); });
}

QStringList TabPage::tabs() const {
  QStringList names;
  for (int i = 0; i < tabs_->count(); ++i) names << tabs_->tabText(i).toLower();
  return names;
}

QString TabPage::tab() const { return tabs_->tabText(tabs_->currentIndex()).toLower(); }

void TabPage::show_tab(const QString& name) {
  const int index = static_cast<int>(tabs().indexOf(name));
  if (index < 0) return;
  closed_.removeAll(index);
  tabs_->setTabVisible(index, true);
  tabs_->setCurrentIndex(index);
  fit();
}

std::optional<Drawing> TabPage::picture() const {
  return current_page() == nullptr ? std::nullopt : current_page()->picture();
}

std::optional<DataTable> TabPage::table() const {
  return current_page() == nullptr ? std::nullopt : current_page()->table();
}

std::optional<std::string> TabPage::document() const {
  return current_page() == nullptr ? std::nullopt : current_page()->document();
}

}  // namespace trainyard

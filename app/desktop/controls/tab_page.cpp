#include "app/desktop/controls/tab_page.h"

#include <QHBoxLayout>
#include <QStackedWidget>
#include <QTabBar>
#include <QVBoxLayout>

#include <algorithm>

#include "app/desktop/controls/theme.h"
#include "app/desktop/controls/widgets.h"

namespace trainyard {

bool ClosedTabs::close(QTabBar& tabs) {
  int visible = 0;
  for (int i = 0; i < tabs.count(); ++i) visible += tabs.isTabVisible(i) ? 1 : 0;
  if (visible < 2) return false;
  const int now = tabs.currentIndex();
  closed_.removeAll(now);
  closed_ << now;
  tabs.setTabVisible(now, false);
  return true;
}

bool ClosedTabs::reopen(QTabBar& tabs) {
  while (!closed_.isEmpty()) {
    const int last = closed_.takeLast();
    if (tabs.isTabVisible(last)) continue;  // it has been shown by name meanwhile
    tabs.setTabVisible(last, true);
    tabs.setCurrentIndex(last);
    return true;
  }
  return false;
}

TabPage::TabPage(const QString& accessible_name, QWidget* parent)
    : Page(parent), tabs_(new QTabBar), pages_(new QStackedWidget) {
  setObjectName("page");
  setAttribute(Qt::WA_StyledBackground);
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  QHBoxLayout* row = add_bar(column);
  row->setContentsMargins(0, 0, 0, 0);
  tabs_->setDrawBase(false);
  tabs_->setExpanding(false);
  tabs_->setAccessibleName(accessible_name);
  row->addWidget(tabs_, 1);
  column->addWidget(pages_, 1);
  connect(tabs_, &QTabBar::currentChanged, this, [this](int index) {
    pages_->setCurrentIndex(index);
    Q_EMIT turned();
  });
}

void TabPage::add(const QString& title, Page* page) {
  list_ << page;
  pages_->addWidget(page);
  connect(page, &Page::turned, this, &Page::turned);
  tabs_->addTab(title);
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
  tabs_->setTabVisible(index, true);
  tabs_->setCurrentIndex(index);
}

std::optional<Drawing> TabPage::picture() const {
  return current_page() == nullptr ? std::nullopt : current_page()->picture();
}

std::optional<DataTable> TabPage::table() const {
  return current_page() == nullptr ? std::nullopt : current_page()->table();
}

}  // namespace trainyard

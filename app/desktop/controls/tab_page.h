// A TabPage is a page that consists of a row of tabs, each a page.
#pragma once

#include "app/desktop/controls/page.h"

class QStackedWidget;
class QTabBar;

namespace trainyard {

/// ClosedTabs remembers closed tabs, so that they can be reopened.
class ClosedTabs {
 public:
  bool close(QTabBar&);   // closes the current tab, but never the last
  bool reopen(QTabBar&);  // reopens the tab closed last

 private:
  QList<int> closed_;
};

class TabPage : public Page {
  Q_OBJECT

 public:
  explicit TabPage(const QString& accessible_name, QWidget* parent = nullptr);
  /// The title in lower case is the tab's name. Takes ownership of the page.
  void add(const QString& title, Page*);
  Page* current_page() const;
  /// The canvas of the page that is shown; null if it has none.
  CanvasWidget* current() const {
    return current_page() == nullptr ? nullptr : current_page()->canvas();
  }

  QList<CanvasWidget*> canvases() const override;
  bool settled() const override;
  QStringList tabs() const override;
  QString tab() const override;
  void show_tab(const QString&) override;
  bool close_tab() override { return closed_.close(*tabs_); }
  bool reopen_tab() override { return closed_.reopen(*tabs_); }
  bool whole() const override { return current_page() != nullptr && current_page()->whole(); }
  bool toggle_rows() override { return current_page() != nullptr && current_page()->toggle_rows(); }
  std::optional<Drawing> picture() const override;
  std::optional<DataTable> table() const override;

 protected:
  /// What shows the pages, for a page that lays it out beside something else.
  QStackedWidget* pages() const { return pages_; }

 private:
  QTabBar* tabs_;
  QStackedWidget* pages_;
  QList<Page*> list_;
  ClosedTabs closed_;
};

}  // namespace trainyard

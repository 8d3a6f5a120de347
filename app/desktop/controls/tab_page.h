// A TabPage is a page that consists of a row of tabs, each a page.
#pragma once

#include "app/desktop/controls/page.h"

class QStackedWidget;
class QToolButton;

namespace trainyard {

class TabStrip;

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
  /// Closes the current tab, but never the last.
  bool close_tab() override;
  /// Reopens the tab that was closed last.
  bool reopen_tab() override;
  bool whole() const override { return current_page() != nullptr && current_page()->whole(); }
  bool toggle_rows() override { return current_page() != nullptr && current_page()->toggle_rows(); }
  std::optional<Drawing> picture() const override;
  std::optional<DataTable> table() const override;
  std::optional<std::string> document() const override;

 protected:
  /// What shows the pages, for a page that lays it out beside something else.
  QStackedWidget* pages() const { return pages_; }
  void resizeEvent(QResizeEvent*) override;

 private:
  void fit();

  TabStrip* tabs_;
  QToolButton* more_;  // lists the tabs for which the strip has no room; hidden if there are none
  QStackedWidget* pages_;
  QList<Page*> list_;
  QList<int> closed_;  // tabs, in the order in which they were closed
  QList<int> beyond_;  // tabs for which there is no room
};

}  // namespace trainyard

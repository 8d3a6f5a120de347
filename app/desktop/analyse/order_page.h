// The Order tab: the grid above, its text beneath; either edits the plan's order.
#pragma once

#include "app/desktop/analyse/view_page.h"
#include "app/desktop/session/order_editor.h"

class QLabel;
class QPlainTextEdit;
class QPushButton;

namespace trainyard {

class OrderPage : public ViewPage {
  Q_OBJECT

 public:
  OrderPage(Document&, Session&, QWidget* parent = nullptr);
  OrderEditor& editor() { return editor_; }

 private:
  void show_order();
  OrderEditor editor_;
  QPlainTextEdit* text_;
  QLabel* reason_;
  QPushButton *apply_, *back_;
};

}  // namespace trainyard

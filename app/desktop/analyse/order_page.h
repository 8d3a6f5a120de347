// The Order tab: the grid above, its text beneath; either edits the plan's order.
#pragma once

#include <QWidget>

#include "app/desktop/session/order_editor.h"

class QLabel;
class QPlainTextEdit;
class QPushButton;

namespace trainyard {

class CanvasWidget;

class OrderPage : public QWidget {
  Q_OBJECT

 public:
  OrderPage(Document&, Session&, QWidget* parent = nullptr);
  CanvasWidget* canvas() const { return canvas_; }
  OrderEditor& editor() { return editor_; }

 private:
  void refresh();
  OrderEditor editor_;
  CanvasWidget* canvas_;
  QPlainTextEdit* text_;
  QLabel* reason_;
  QPushButton *apply_, *back_;
};

}  // namespace trainyard

#include "app/desktop/analyse/order_page.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QSplitter>
#include <QVBoxLayout>

#include "app/desktop/controls/theme.h"
#include "app/desktop/controls/widgets.h"
#include "app/desktop/scene/order_scene.h"

namespace trainyard {

OrderPage::OrderPage(Document& document, Session& session, QWidget* parent)
    : ViewPage(session, parent), editor_(document, session) {
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  CanvasWidget* grid = set_scene("Order of work", std::make_unique<OrderScene>(editor_, session));
  grid->setMinimumHeight(120);
  auto* below = new QWidget;
  auto* lines = new QVBoxLayout(below);
  lines->setContentsMargins(0, 0, 0, 0);
  lines->setSpacing(0);
  auto* bar = new Header("As text");
  reason_ = new ElidedLabel(11, "error");
  reason_->setAccessibleName("Why the edit was refused");
  reason_->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Preferred);
  apply_ = new QPushButton("Apply");
  apply_->setToolTip("Uses the text as the plan's order, if it is valid");
  back_ = new QPushButton("Back to the schedule's own order");
  bar->row()->addWidget(reason_, 50);
  bar->row()->addWidget(apply_);
  bar->row()->addWidget(back_);
  lines->addWidget(bar);
  text_ = new QPlainTextEdit;
  text_->setAccessibleName("Order as text");
  text_->setFont(code_font());
  text_->setFrameShape(QFrame::NoFrame);
  text_->setLineWrapMode(QPlainTextEdit::NoWrap);
  text_->setTabChangesFocus(true);
  lines->addWidget(text_, 1);
  auto* split = new QSplitter(Qt::Vertical);
  split->setHandleWidth(1);
  split->setChildrenCollapsible(false);
  split->addWidget(grid);
  split->addWidget(below);
  split->setSizes({400, 180});
  split->setStretchFactor(0, 1);
  column->addWidget(split, 1);
  connect(apply_, &QPushButton::clicked, this, [this] {
    if (editor_.apply_text(text_->toPlainText())) text_->document()->setModified(false);
    show_order();
  });
  connect(back_, &QPushButton::clicked, this, [this] {
    text_->document()->setModified(false);
    editor_.back();
  });
  connect(text_, &QPlainTextEdit::modificationChanged, apply_, &QPushButton::setEnabled);
  connect(&editor_, &OrderEditor::changed, this, &OrderPage::show_order);
  show_order();
}

// What somebody is typing stays until it is applied.
void OrderPage::show_order() {
  if (!text_->document()->isModified()) {
    const QString text =
        QString::fromStdString(editor_.available() ? to_text(editor_.order()) : editor_.own());
    if (text != text_->toPlainText()) text_->setPlainText(text);
    text_->document()->setModified(false);
  }
  reason_->setText(editor_.reason());
  apply_->setEnabled(text_->document()->isModified());
  back_->setVisible(editor_.edited());
  refresh();
}

}  // namespace trainyard

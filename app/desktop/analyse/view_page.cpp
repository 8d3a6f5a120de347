#include "app/desktop/analyse/view_page.h"

#include <QVBoxLayout>

#include "app/desktop/controls/widgets.h"

namespace trainyard {

ViewPage::ViewPage(Session& session, std::string_view name, QWidget* parent)
    : Page(parent), session_(session), view_(view(name)) {}

std::optional<Drawing> ViewPage::picture() const {
  if (session_.data() == nullptr) return std::nullopt;
  return draw(view_.size, 1);
}

void ViewPage::lay_out(Header* bar, const QString& accessible_name, std::unique_ptr<Scene> scene) {
  canvas_ = new CanvasWidget(accessible_name, std::move(scene));
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  if (bar != nullptr) column->addWidget(bar);
  column->addWidget(canvas_, 1);
  setFocusProxy(canvas_);
  connect(&session_, &Session::selection_changed, this, [this] { refresh(); });
}

}  // namespace trainyard

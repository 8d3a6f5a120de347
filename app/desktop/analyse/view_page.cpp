#include "app/desktop/analyse/view_page.h"

#include <QVBoxLayout>

#include "app/desktop/controls/widgets.h"

namespace trainyard {

ViewPage::ViewPage(Session& session, const QString& accessible_name,
                   std::unique_ptr<ViewScene> scene, QWidget* parent)
    : ViewPage(session, parent) {
  set_scene_under(nullptr, accessible_name, std::move(scene));
}

CanvasWidget* ViewPage::set_scene(const QString& accessible_name,
                                  std::unique_ptr<ViewScene> scene) {
  scene_ = scene.get();
  canvas_ = new CanvasWidget(accessible_name, std::move(scene));
  setFocusProxy(canvas_);
  for (const auto signal : {&Session::experiment_changed, &Session::view_changed,
                            &Session::range_changed, &Session::selection_changed})
    connect(&session_, signal, canvas_, &CanvasWidget::refresh);
  return canvas_;
}

void ViewPage::set_scene_under(Header* bar, const QString& accessible_name,
                               std::unique_ptr<ViewScene> scene) {
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  if (bar != nullptr) column->addWidget(bar);
  column->addWidget(set_scene(accessible_name, std::move(scene)), 1);
}

std::optional<Drawing> ViewPage::picture() const {
  if (session_.data() == nullptr) return std::nullopt;
  return scene_->picture();
}

std::optional<DataTable> ViewPage::table() const {
  if (session_.data() == nullptr) return std::nullopt;
  return scene_->rows();
}

void ViewPage::choose_row(Item item) {
  if (session_.data() == nullptr) return;
  scene_->select(item);
  refresh();
}

}  // namespace trainyard

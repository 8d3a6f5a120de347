// A view of the experiment as a tab of Analyse: its canvas, with controls of its own above it if it
// has any.
#pragma once

#include "app/desktop/controls/page.h"
#include "app/desktop/scene/view_scene.h"

namespace trainyard {

class Header;

class ViewPage : public Page {
  Q_OBJECT

 public:
  /// The scene alone. accessible_name: of its canvas.
  ViewPage(Session&, const QString& accessible_name, std::unique_ptr<ViewScene>,
           QWidget* parent = nullptr);

  QList<CanvasWidget*> canvases() const override { return {canvas_}; }
  std::optional<Drawing> picture() const override;
  std::optional<DataTable> table() const override;
  void choose_row(Item) override;

 protected:
  /// For pages that put controls around their canvas.
  explicit ViewPage(Session& session, QWidget* parent = nullptr)
      : Page(parent), session_(session) {}
  /// Makes the canvas; the page lays it out itself.
  CanvasWidget* set_scene(const QString& accessible_name, std::unique_ptr<ViewScene>);
  /// Makes the canvas and puts it under the bar.
  void set_scene_under(Header* bar, const QString& accessible_name, std::unique_ptr<ViewScene>);
  void refresh() { canvas_->refresh(); }

  Session& session_;

 private:
  CanvasWidget* canvas_ = nullptr;
  ViewScene* scene_ = nullptr;  // owned by the canvas
};

}  // namespace trainyard

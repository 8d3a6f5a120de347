// A view of the experiment with controls of its own above its canvas: a tab of Analyse.
#pragma once

#include "app/desktop/controls/canvas_widget.h"
#include "app/desktop/controls/page.h"
#include "app/desktop/session/session.h"

namespace trainyard {

class Header;

class ViewPage : public Page {
  Q_OBJECT

 public:
  /// name: of views(), whose size a file has.
  ViewPage(Session&, std::string_view name, QWidget* parent = nullptr);
  QList<CanvasWidget*> canvases() const override { return {canvas_}; }
  CanvasWidget* canvas() const { return canvas_; }
  std::optional<Drawing> picture() const override;
  /// What was chosen in the table.
  virtual void choose(Item) = 0;

 protected:
  /// What the page draws at a size; there is an experiment.
  virtual Drawing draw(Size, double scale) const = 0;
  /// Puts the canvas under the bar; null: there is none.
  void lay_out(Header* bar, const QString& accessible_name, std::unique_ptr<Scene>);
  void refresh() { canvas_->refresh(); }

  Session& session_;
  const View& view_;

 private:
  CanvasWidget* canvas_ = nullptr;
};

}  // namespace trainyard

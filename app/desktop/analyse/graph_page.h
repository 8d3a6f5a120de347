// The Graph tab: the model's layers with their stages, and the ops of those that are opened.
#pragma once

#include "app/desktop/analyse/view_page.h"
#include "visualizers/model/graph_view.h"

namespace trainyard {

class GraphPage : public ViewPage {
  Q_OBJECT

 public:
  explicit GraphPage(Session&, QWidget* parent = nullptr);
  std::optional<DataTable> table() const override;
  void choose(Item) override;

 protected:
  Drawing draw(Size, double scale) const override;

 private:
  class LayersScene;
  GraphState state_;
  std::size_t of_ = 0;  // pieces of the model whose largest was opened
};

}  // namespace trainyard

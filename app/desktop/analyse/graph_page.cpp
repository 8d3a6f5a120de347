#include "app/desktop/analyse/graph_page.h"

#include <algorithm>

#include "app/desktop/scene/analyse_scene.h"
#include "visualizers/view_data.h"

namespace trainyard {

class GraphPage::LayersScene : public Scene {
 public:
  explicit LayersScene(GraphPage& page) : page_(page) {}

  Drawing draw(Size size, double scale) override {
    last_ = Drawing(size);
    if (page_.session_.data() != nullptr) last_ = page_.draw(size, scale);
    return last_;
  }

  // A click opens layers; arrows go from one to the next.
  bool input(const InputFrame& frame) override {
    if (page_.session_.data() == nullptr) return false;
    const GraphModel& model = page_.session_.data()->graph();
    GraphState& state = page_.state_;
    bool changed = false;
    for (const int key : frame.keys) {
      if (key == Qt::Key_Right && state.open + 1 < model.pieces.size()) ++state.open;
      if (key == Qt::Key_Left && state.open > 0) --state.open;
      changed = changed || key == Qt::Key_Right || key == Qt::Key_Left;
    }
    if (frame.wheel_y != 0) {
      const float hidden =
          std::max(0.f, pieces_height(model, last_.size.width) - last_.size.height * 0.3f);
      state.scroll = std::clamp(state.scroll - 40 * frame.wheel_y, 0.f, hidden);
      changed = true;
    }
    if (frame.pressed[0]) {
      state.selected = hit(last_, frame.at);
      if (state.selected.kind == ItemKind::Cell) {
        state.open = state.selected.tag;
        state.selected = {};
      }
      changed = true;
    }
    return changed;
  }

  QString tooltip(Point p) override {
    if (page_.session_.data() == nullptr) return {};
    const Hover hover = describe_graph(page_.session_.data()->graph(), page_.state_, hit(last_, p));
    return hover.title.empty() ? QString() : tip_html(hover);
  }

  QString description() const override {
    if (page_.session_.data() == nullptr) return "Model graph. Nothing has been simulated yet.";
    const GraphModel& model = page_.session_.data()->graph();
    const auto cuts = std::count_if(model.pieces.begin(), model.pieces.end(),
                                    [](const GraphPiece& piece) { return piece.cut; });
    QString text = QString("%1 groups of equal layers, %2 cut edges between devices.")
                       .arg(model.pieces.size())
                       .arg(cuts);
    if (page_.state_.open < model.pieces.size())
      text += " Open: " + QString::fromStdString(model.pieces[page_.state_.open].name) +
              ". Left and right arrow keys open the neighbours.";
    return text;
  }

 private:
  GraphPage& page_;
  Drawing last_{Size{}};
};

GraphPage::GraphPage(Session& session, QWidget* parent) : ViewPage(session, "graph", parent) {
  lay_out(nullptr, "Model graph", std::make_unique<LayersScene>(*this));
  connect(&session_, &Session::experiment_changed, this, [this] {
    if (session_.data() == nullptr) return;
    const std::size_t pieces = session_.data()->graph().pieces.size();
    if (of_ == pieces && state_.open < pieces) return;
    of_ = pieces;
    state_ = graph_state(session_.data()->graph());
  });
}

Drawing GraphPage::draw(Size size, double) const {
  Drawing drawing(size);
  draw_graph(drawing, {0, 0, size.width, size.height}, session_.data()->graph(), state_);
  return drawing;
}

std::optional<DataTable> GraphPage::table() const {
  if (session_.data() == nullptr) return std::nullopt;
  return graph_table(session_.data()->graph());
}

void GraphPage::choose(Item item) {
  if (item.kind == ItemKind::Cell) state_.open = item.tag;
  refresh();
}

}  // namespace trainyard

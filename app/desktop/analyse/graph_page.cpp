#include "app/desktop/analyse/graph_page.h"

#include <algorithm>

#include "app/desktop/controls/text.h"
#include "visualizers/model/graph_view.h"
#include "visualizers/view_data.h"

namespace trainyard {
namespace {

class GraphScene : public ViewScene {
 public:
  explicit GraphScene(Session& session) : ViewScene(session, "graph") {}

  /// What was opened stays open while the model has as many pieces.
  void follow_model() {
    const GraphModel& model = data().get<GraphModel>();
    if (pieces_ == model.pieces.size() && state_.open < pieces_) return;
    pieces_ = model.pieces.size();
    state_ = graph_state(model);
  }

  void select(Item item) override {
    if (item.kind == ItemKind::Cell) state_.open = item.tag;
  }

 protected:
  Drawing paint(Size size, double) const override {
    Drawing drawing(size);
    draw_graph(drawing, whole(size), data().get<GraphModel>(), state_);
    return drawing;
  }

  // A click opens layers; arrows go from one to the next.
  bool take(const InputFrame& frame) override {
    const GraphModel& model = data().get<GraphModel>();
    bool changed = false;
    for (const int key : frame.keys) {
      if (key == Qt::Key_Right && state_.open + 1 < model.pieces.size()) ++state_.open;
      if (key == Qt::Key_Left && state_.open > 0) --state_.open;
      changed = changed || key == Qt::Key_Right || key == Qt::Key_Left;
    }
    if (frame.wheel_y != 0) {
      const float hidden =
          std::max(0.f, pieces_height(model, last_.size.width) - last_.size.height * 0.3f);
      state_.scroll = std::clamp(state_.scroll - 40 * frame.wheel_y, 0.f, hidden);
      changed = true;
    }
    if (frame.pressed[0]) {
      state_.selected = hit(last_, frame.at);
      if (state_.selected.kind == ItemKind::Cell) {
        state_.open = state_.selected.tag;
        state_.selected = {};
      }
      changed = true;
    }
    return changed;
  }

  Hover describe(Point p) const override {
    return describe_graph(data().get<GraphModel>(), state_, hit(last_, p));
  }

  QString words() const override {
    const GraphModel& model = data().get<GraphModel>();
    const auto cuts = std::count_if(model.pieces.begin(), model.pieces.end(),
                                    [](const GraphPiece& piece) { return piece.cut; });
    QString text = QString("%1 groups of equal layers, %2 cut edges between devices.")
                       .arg(model.pieces.size())
                       .arg(cuts);
    if (state_.open < model.pieces.size())
      text += " Open: " + q(model.pieces[state_.open].name) +
              ". Left and right arrow keys open the neighbours.";
    return text;
  }

 private:
  GraphState state_;
  std::size_t pieces_ = 0;  // of the model whose largest piece was opened
};

}  // namespace

GraphPage::GraphPage(Session& session, QWidget* parent) : ViewPage(session, parent) {
  auto made = std::make_unique<GraphScene>(session);
  GraphScene* scene = made.get();
  set_scene_under(nullptr, "Model graph", std::move(made));
  connect(&session_, &Session::experiment_changed, this, [this, scene] {
    if (session_.data() != nullptr) scene->follow_model();
  });
}

}  // namespace trainyard

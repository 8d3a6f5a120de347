// The split of layers over stages by its handles: dragged, moved by keys, undone in one step.
#include "app/desktop/scene/split_scene.h"

#include <gtest/gtest.h>

#include <QKeyEvent>
#include <QMouseEvent>

#include "tests/desktop/support.h"
#include "visualizers/model/layer_view.h"
#include "visualizers/view_data.h"

namespace trainyard {
namespace {

struct Design {
  std::unique_ptr<Window> window =
      window_with({"llama-3-8b", "h100-sxm:8", "", {"tp=2", "pp=4", "global-batch=16"}});
  CanvasWidget* canvas = nullptr;

  Design() {
    window->document().show_perspective("design");
    for (CanvasWidget* each : window->findChildren<CanvasWidget*>())
      if (each->accessibleName() == "Layers of each stage") canvas = each;
    happens([&] { return canvas->drawing() != nullptr && settled(); });
  }
  bool settled() const { return window->settled() && !window->session().stale(); }
  std::string split() const { return own_setting(*window->document().plan(), "split"); }
  SplitModel model() const {
    return split_model(window->session().experiment()->workload,
                       window->session().data()->get<LayerModel>());
  }
  QPointF handle(std::size_t boundary) const {
    const Drawing& drawing = *canvas->drawing();
    const SplitLayout layout =
        split_layout(model(), {0, 0, drawing.size.width, drawing.size.height});
    return {boundary_x(model(), layout, boundary), layout.bar.y + layout.bar.height / 2};
  }
  float layer() const {
    const Drawing& drawing = *canvas->drawing();
    return split_layout(model(), {0, 0, drawing.size.width, drawing.size.height}).layer;
  }
  void mouse(QEvent::Type type, QPointF at, Qt::MouseButtons down) const {
    QMouseEvent event(type, at, canvas->mapToGlobal(at),
                      type == QEvent::MouseMove ? Qt::NoButton : Qt::LeftButton, down,
                      Qt::NoModifier);
    QApplication::sendEvent(canvas, &event);
    QApplication::processEvents();
  }
  void press(int key, Qt::KeyboardModifiers modifiers = Qt::NoModifier) const {
    QKeyEvent event(QEvent::KeyPress, key, modifiers);
    QApplication::sendEvent(canvas, &event);
    QApplication::processEvents();
  }
};

TEST(SplitScene, AHandleIsDraggedAndTheVerdictFollows) {
  Design design;
  const QPointF from = design.handle(0), to = from - QPointF(2.0 * design.layer(), 0);
  design.mouse(QEvent::MouseMove, from, Qt::NoButton);
  design.mouse(QEvent::MouseButtonPress, from, Qt::LeftButton);
  design.mouse(QEvent::MouseMove, (from + to) / 2, Qt::LeftButton);
  design.mouse(QEvent::MouseMove, to, Qt::LeftButton);
  design.mouse(QEvent::MouseButtonRelease, to, Qt::NoButton);
  EXPECT_EQ(design.split(), "6,10,8,8");
  ASSERT_TRUE(happens([&] { return design.settled(); }));
  EXPECT_EQ(design.window->session().experiment()->workload.scenario.plan.split.layers,
            (std::vector<int>{6, 10, 8, 8}));
  design.window->document().undo_stack().undo();  // the whole drag
  EXPECT_EQ(design.split(), "");
}

TEST(SplitScene, KeysChooseABoundaryAndMoveIt) {
  Design design;
  design.press(Qt::Key_Right);
  design.press(Qt::Key_Right);
  design.press(Qt::Key_Right, Qt::AltModifier);
  EXPECT_EQ(design.split(), "8,9,7,8");
  design.press(Qt::Key_Right, Qt::AltModifier);
  EXPECT_EQ(design.split(), "8,10,6,8");
  EXPECT_TRUE(design.canvas->scene().description().contains("8, 10, 6, 8"));
  EXPECT_TRUE(design.canvas->scene().description().contains("Boundary of stage 1 and 2"));
}

// The embedding and the head each suffice for a stage; every stage between them has a layer.
TEST(SplitScene, BoundariesStopWhereAStageWouldBeEmpty) {
  SplitModel model;
  model.layers = {2, 2, 2};
  model.ahead = "embed", model.behind = "head";
  EXPECT_EQ(with_boundary(model, 0, -5).layers, (std::vector<int>{0, 4, 2}));
  EXPECT_EQ(with_boundary(model, 0, 9).layers, (std::vector<int>{3, 1, 2}));
  EXPECT_EQ(with_boundary(model, 1, 9).layers, (std::vector<int>{2, 4, 0}));
  EXPECT_EQ(with_boundary(model, 1, 0).layers, (std::vector<int>{2, 1, 3}));
  model.ahead.clear();
  EXPECT_EQ(with_boundary(model, 0, -5).layers, (std::vector<int>{1, 3, 2}));
}

}  // namespace
}  // namespace trainyard

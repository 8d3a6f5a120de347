#include "app/desktop/scene/split_scene.h"

#include <algorithm>
#include <cmath>

#include "core/methods/settings/settings.h"
#include "visualizers/model/layer_view.h"
#include "visualizers/view_data.h"

namespace trainyard {

SplitModel SplitScene::model() const {
  SplitModel model = split_model(session_.experiment()->workload, data().get<LayerModel>());
  if (!session_.stale() || document_.plan() == nullptr) return model;
  const std::string own = own_setting(*document_.plan(), "split");
  if (own.empty()) return model;
  try {
    Plan plan;
    apply_setting(plan, "split", own);
    const std::vector<int>& layers = plan.split.layers;
    int all = 0, before = 0;
    for (const int n : layers) all += n;
    for (const int n : model.layers) before += n;
    if (layers.size() == model.layers.size() && all == before && layers != model.layers)
      model.layers = layers, model.times.clear();
  } catch (const Error&) {
    // A project may hold any text; what is shown is then what was simulated last.
  }
  return model;
}

Drawing SplitScene::paint(Size size, double) const {
  Drawing drawing(size);
  draw_split(drawing, {0, 0, size.width, size.height}, model(),
             chosen_ ? Item{ItemKind::Ruler, *chosen_} : Item{});
  return drawing;
}

// Steps that follow each other are one step of undo.
void SplitScene::move(std::size_t boundary, int layers) {
  const SplitModel now = model(), next = with_boundary(now, boundary, layers);
  if (next.layers == now.layers) return;
  QStringList words;
  for (const int n : next.layers) words << QString::number(n);
  document_.apply("Split of layers", {"split=" + words.join(',')}, "split");
}

bool SplitScene::take(const InputFrame& frame) {
  const SplitModel now = model();
  const std::size_t boundaries = now.layers.size() - 1;
  if (boundaries == 0) return false;
  if (chosen_ && *chosen_ >= boundaries) chosen_.reset();
  bool again = false;
  for (const int key : frame.keys) {
    if (key == Qt::Key_Escape) chosen_.reset(), again = true;
    if (key != Qt::Key_Left && key != Qt::Key_Right) continue;
    const int by = key == Qt::Key_Left ? -1 : 1;
    again = true;
    if (!chosen_)
      chosen_ = by > 0 ? 0 : boundaries - 1;
    else if (frame.modifiers & kAlt)
      move(*chosen_, layers_ahead(model(), *chosen_) + by);
    else
      chosen_ = static_cast<std::size_t>(
          std::clamp(static_cast<int>(*chosen_) + by, 0, static_cast<int>(boundaries) - 1));
  }
  const SplitLayout layout = split_layout(now, area());
  if (frame.pressed[0]) {
    chosen_ = boundary_at(now, layout, frame.at);
    dragging_ = chosen_.has_value();
    again = true;
  }
  if (dragging_ && frame.down[0] && chosen_) {
    move(*chosen_, static_cast<int>(std::lround((frame.at.x - layout.bar.x) / layout.layer)));
    again = true;
  }
  if (frame.released[0]) dragging_ = false;
  return again;
}

Hover SplitScene::describe(Point p) const {
  return dragging_ ? Hover{} : describe_split(model(), hit(last_, p));
}

Qt::CursorShape SplitScene::shape(Point p) const {
  const SplitModel now = model();
  const SplitLayout layout = split_layout(now, area());
  return boundary_at(now, layout, p) ? Qt::SplitHCursor : Qt::ArrowCursor;
}

QString SplitScene::words() const {
  const SplitModel now = model();
  QStringList words;
  for (const int n : now.layers) words << QString::number(n);
  QString text = QString("Layers of each stage: %1.").arg(words.join(", "));
  if (chosen_ && *chosen_ + 1 < now.layers.size())
    text += QString(" Boundary of stage %1 and %2 chosen; Alt with Left or Right moves it.")
                .arg(*chosen_)
                .arg(*chosen_ + 1);
  return text;
}

}  // namespace trainyard

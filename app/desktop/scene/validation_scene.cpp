#include "app/desktop/scene/validation_scene.h"

#include <algorithm>

#include "app/desktop/scene/tip.h"
#include "visualizers/chart/time_plot.h"

namespace trainyard {

QString words_of(const Published& published) {
  if (!published.error().empty()) return QString::fromStdString(published.error());
  if (!published.running()) return "Nothing has been predicted yet.";
  const auto [done, all] = published.progress();
  return all == 0 ? QString("Reading the published rows …")
                  : QString("Predicting row %1 of %2 …").arg(done).arg(all);
}

Drawing ValidationScene::draw(Size size, double scale) {
  last_ = Drawing(size);
  const PublishedResults* results = published_.results();
  if (results == nullptr) {
    write(last_, words_of(published_).toStdString(), {12, 24}, 12, Weight::Regular,
          published_.error().empty() ? Ink::Text2 : Ink::Error);
    return last_;
  }
  state_.scale = scale;
  draw_validation(last_, {0, 0, size.width, size.height}, results->model, state_);
  return last_;
}

bool ValidationScene::input(const InputFrame& frame) {
  const PublishedResults* results = published_.results();
  if (results == nullptr) return false;
  if (frame.wheel_y != 0) {
    const float hidden = std::max(0.F, validation_size(results->model).height - last_.size.height);
    state_.scroll = std::clamp(state_.scroll - 38 * frame.wheel_y, 0.F, hidden);
    return true;
  }
  if (!frame.pressed[0]) return false;
  const Item item = hit(last_, frame.at);
  // The same source again lets the others back.
  state_.selected = item == state_.selected && item.kind == ItemKind::Legend ? Item{} : item;
  if (item.kind == ItemKind::Dot) chosen_(static_cast<int>(item.tag));
  return true;
}

QString ValidationScene::tooltip(Point p) {
  if (published_.results() == nullptr) return {};
  const Hover hover = describe_validation(published_.results()->model, hit(last_, p));
  return hover.title.empty() ? QString() : tip_html(hover);
}

QString ValidationScene::description() const {
  if (published_.results() == nullptr) return "Predicted against measured. " + words_of(published_);
  return "Predicted against measured. " +
         QString::fromStdString(validation_words(published_.results()->model)) + ".";
}

}  // namespace trainyard

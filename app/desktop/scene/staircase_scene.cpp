#include "app/desktop/scene/staircase_scene.h"

#include "app/desktop/controls/text.h"
#include "app/desktop/scene/tip.h"
#include "visualizers/chart/time_plot.h"

namespace trainyard {

Drawing StaircaseScene::draw(Size size, double scale) {
  last_ = Drawing(size);
  state_.scale = scale;
  if (const WidthProbe* probe = probe_())
    draw_staircase(last_, whole(size), *probe, state_);
  else
    write(last_, words_().toStdString(), {12, 24}, 12, Weight::Regular, Ink::Text2);
  return last_;
}

bool StaircaseScene::input(const InputFrame& frame) {
  if (probe_() == nullptr || !frame.pressed[0]) return false;
  state_.selected = hit(last_, frame.at);
  return true;
}

QString StaircaseScene::tooltip(Point p) {
  const WidthProbe* probe = probe_();
  if (probe == nullptr) return {};
  const Hover hover = describe_staircase(*probe, hit(last_, p));
  return hover.title.empty() ? QString() : tip_html(hover);
}

QString StaircaseScene::description() const {
  const WidthProbe* probe = probe_();
  if (probe == nullptr) return words_();
  QString text = q(probed_words(*probe)) + ".";
  for (const std::string& sentence : probe_sentences(*probe)) text += " " + q(sentence);
  return text;
}

}  // namespace trainyard

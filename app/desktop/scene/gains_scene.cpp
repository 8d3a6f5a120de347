#include "app/desktop/scene/gains_scene.h"

#include "app/desktop/controls/text.h"
#include "app/workspace/runs/tune_words.h"
#include "visualizers/tuning/gains_view.h"

namespace trainyard {

Drawing GainsScene::draw(Size size, double /*scale*/) {
  Drawing drawing(size);
  draw_gains(drawing, whole(size), tuning_.report());
  return drawing;
}

QString GainsScene::description() const {
  QStringList sentences;
  for (const std::string& sentence : fusion_sentences(tuning_.report())) sentences << q(sentence);
  return sentences.join(' ');
}

}  // namespace trainyard

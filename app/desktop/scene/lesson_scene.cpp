#include "app/desktop/scene/lesson_scene.h"

#include <algorithm>

#include "visualizers/chart/panel.h"

namespace trainyard {

std::vector<LessonPicture> LessonScene::pictures() const {
  std::vector<LessonPicture> all = session_.screen().pictures;
  for (LessonPicture& each : all)
    if (each.kind == LessonPicture::Kind::Run) each.run = session_.live();
  return all;
}

Drawing LessonScene::draw(Size size, double) {
  Drawing drawing(size);
  Rect area{0, 8, size.width, std::max(1.f, size.height - 16)};
  if (const std::optional<AnswerHistogram> class_answers = session_.histogram()) {
    const float height = std::min(250 * large_, area.height * 0.4f);
    draw_histogram(drawing, {area.x, area.bottom() - height, area.width, height},
                   histogram_model(*class_answers), large_);
    line(drawing, {0, area.bottom() - height - 6}, {size.width, area.bottom() - height - 6},
         {.ink = Ink::Border});
    area.height -= height + 12;
  }
  if (!session_.screen().pictures.empty()) draw_lesson_panels(drawing, area, pictures(), large_);
  return drawing;
}

QString LessonScene::description() const {
  const QString told = QString::fromStdString(panel_words(pictures()));
  const std::optional<AnswerHistogram> students = session_.histogram();
  if (!students) return told;
  const HistogramModel class_answers = histogram_model(*students);
  return told + QString(" The class: %1; the truth is %2.")
                    .arg(QString::fromStdString(class_answers.words),
                         QString::fromStdString(panel_number(students->truth, class_answers.unit)));
}

}  // namespace trainyard

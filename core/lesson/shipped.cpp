#include "core/lesson/shipped.h"

#include "core/base/nearest.h"
#include "core/lesson/lesson_text.h"

namespace trainyard {

const std::vector<Lesson>& shipped_lessons() {
  static const std::vector<Lesson> list = [] {
    std::vector<Lesson> all;
    const std::string* const texts[] = {
        &shipped_lesson_01(), &shipped_lesson_02(), &shipped_lesson_03(), &shipped_lesson_04(),
        &shipped_lesson_05(), &shipped_lesson_06(), &shipped_lesson_07(), &shipped_lesson_08(),
        &shipped_lesson_09(), &shipped_lesson_10(), &shipped_lesson_11(), &shipped_lesson_12(),
        &shipped_lesson_13()};
    for (const std::string* text : texts)
      all.push_back(parse_lesson(*text, "lesson " + std::to_string(all.size() + 1)));
    return all;
  }();
  return list;
}

Lesson open_lesson(const std::string& words) {
  std::vector<std::string> names;
  for (const Lesson& lesson : shipped_lessons()) {
    if (words == std::to_string(lesson.number) || words == lesson.name) return lesson;
    names.push_back(lesson.name);
  }
  const bool file = words.find('/') != std::string::npos || words.find('.') != std::string::npos;
  if (file) return read_lesson(words);
  throw Error(Error::Kind::InvalidInput,
              "no lesson is called \"" + words + "\"" + did_you_mean(words, names) +
                  "; expected 1 to " + std::to_string(names.size()) + ", a name or a file",
              {"lesson"});
}

}  // namespace trainyard

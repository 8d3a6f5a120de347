// Any text is a lesson or is refused with InvalidInput; a lesson refers only to things that exist.
#include <cstdint>
#include <cstdlib>

#include "core/lesson/answers.h"
#include "core/lesson/lesson_text.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace trainyard;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const Lesson lesson = parse_lesson(text, "fuzz");
    if (lesson.steps.empty()) std::abort();
    for (const LessonFigure& figure : lesson.figures)
      for (const LessonFigure::Claim& claim : figure.claims)
        if (find_source(lesson, claim.source) == nullptr) std::abort();
  } catch (const Error& error) {
    if (error.kind() != Error::Kind::InvalidInput) std::abort();
  }
  try {
    parse_answers(text, "fuzz");
  } catch (const Error& error) {
    if (error.kind() != Error::Kind::InvalidInput) std::abort();
  }
  return 0;
}

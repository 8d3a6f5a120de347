// This file reads the text form of lessons, which people write with any editor:
//
//   @lesson 3 bubbles                        number and name
//   @title Bubbles
//   @goal Why pipelines want many microbatches.
//   @minutes 25
//   @world schedule                          numbers, schedule or plan
//   @settings schedule=1f1b stages=4 microbatches=4
//   @knob microbatches Microbatches          the one that is free
//     values 1 2 4 8 16 32
//   @source zb Qi et al., "Zero Bubble Pipeline Parallelism", ICLR 2024
//   @misconception quicker 1F1B waits less than GPipe
//   @figure bubble32 at('microbatches=32', bubble)
//     unit %
//     words the bubble of 32 microbatches
//     source zb 17.9 within 0.5%
//   @leaves-out Equal stages, no send time.   also @notes, @open-question
//
//   @step Predict
//   Prose in paragraphs; {bubble32} is a figure, {=bubble * 2 %} is computed as things stand.
//   @set microbatches=8
//   @show curve Bubble against microbatches
//     x microbatches 1 2 4 8 16 32
//     line bubble forward bubble
//     unit %
//   @ask guess What is the bubble with 32 microbatches?
//     answer bubble32
//     unit %
//     range 0 100
//     within 2
//   @after Why it is so.
//   @check Make it smaller than a tenth.
//     passes bubble < 0.1
//     solution microbatches=32
//   @button Show me 32 set microbatches=32
//
// A line that begins with "@" is a directive, indented lines below it are its attributes, "#"
// begins a comment, everything else is prose of the step.
#pragma once

#include "core/lesson/lesson.h"

namespace trainyard {

/// Throws Error{InvalidInput} at "SOURCE:LINE" with what was expected, what was found and the
/// nearest valid alternative. The lesson that is returned refers only to things that exist:
/// figures, knobs, sources, quantities of its world.
Lesson parse_lesson(std::string_view text, const std::string& source);
/// Reads a lesson from a file. Also throws what read_file() throws.
Lesson read_lesson(const std::string& path);

/// Returns the lessons that ship inside the program, ordered by number. They are parsed once.
const std::vector<Lesson>& shipped_lessons();
/// Opens a lesson by number ("3"), name ("bubbles") or file. Throws Error{InvalidInput} with the
/// nearest name.
Lesson open_lesson(const std::string& words);

}  // namespace trainyard

// The spans around one task of a program while its thread works on it, for a run that is recorded.
#pragma once

#include <optional>

#include "core/lowering/phase_writer.h"
#include "core/program/program.h"
#include "core/timeline/span_recorder.h"

namespace trainyard {

/// The annotation around all that trains, where a thread of a driver has none around it.
inline constexpr std::string_view kUpdateSpan = "update";

class TaskSpans {
 public:
  TaskSpans(SpanRecorder& recorder, const Program& program, const Task& task)
      : thread_(&recorder),
        phase_(task.phase == Phase::Update ? "optimizer" : name_of(task.phase)),
        name_(program.names[task.name]) {
    if (!thread_.in_span()) update_.emplace(SpanLevel::Annotation, kUpdateSpan);
    in_phase_.emplace(SpanLevel::Annotation, phase_);
    in_task_.emplace(SpanLevel::Task, name_);
  }

 private:
  RecordingThread thread_;
  std::string_view phase_, name_;
  std::optional<RecordedSpan> update_, in_phase_, in_task_;
};

}  // namespace trainyard

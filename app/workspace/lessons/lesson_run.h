// What a run that a lesson asks for found out, as the lesson's checks and prose read it.
#pragma once

#include <string>

#include "app/workspace/runs/run_recording.h"
#include "app/workspace/runs/training_run.h"
#include "app/workspace/scenario/workspace.h"
#include "core/lesson/lesson.h"

namespace trainyard {

/// What the step's run asks of the programs; filled().
Request run_request(const LessonRun&);
Training run_training(const LessonRun&);

/// By the names of lesson_quantities(): "ran", "run_loss", "run_bubble"; beside a step's settings
/// they say what an Expression reads of a run. Of a run without a step that was measured whole:
/// its updates and losses only.
LessonSettings run_facts(const TrainingReport&, const LessonRun&);
/// The same of a run that was recorded.
LessonSettings run_facts(const PastRun&, const LessonRun&);

/// "It waited 0.6 % of its time, predicted 4.4 %. A step took 6.52 ms, predicted 12.6 ms. The loss
/// went from 4.34 to 4.19."; of one that has not done all its updates, that instead.
std::string run_facts_text(const LessonSettings& facts);

}  // namespace trainyard

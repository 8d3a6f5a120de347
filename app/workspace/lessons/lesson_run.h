// Gives the results of a run that a lesson asks for, in the form that the lesson's checks and prose
// read.
#pragma once

#include <string>

#include "app/workspace/runs/run_recording.h"
#include "app/workspace/runs/training_run.h"
#include "app/workspace/scenario/workspace.h"
#include "core/lesson/lesson.h"

namespace trainyard {

/// The request and the training options of the step's run, with defaults filled in.
Request run_request(const LessonRun&);
Training run_training(const LessonRun&);

/// The results under the names of lesson_quantities(): "ran", "run_loss", "run_bubble". Together
/// with a step's settings they are what an Expression can read of a run. A run without a fully
/// measured step gives its updates and losses only.
LessonSettings run_facts(const TrainingReport&, const LessonRun&);
/// The same for a recorded run.
LessonSettings run_facts(const PastRun&, const LessonRun&);

/// A text such as "It waited 0.6 % of its time, predicted 4.4 %. A step took 6.52 ms, predicted
/// 12.6 ms. The loss went from 4.34 to 4.19."; for a run that did not complete its updates, a
/// sentence that says so.
std::string run_facts_text(const LessonSettings& facts);

}  // namespace trainyard

// What the names in a lesson are worth: it runs the scenario that the settings describe, once for
// each that is asked about, and reads the answer off it.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "app/workspace/schedules/schedule_study.h"
#include "core/lesson/lesson.h"
#include "core/result/experiment.h"
#include "visualizers/view.h"

namespace trainyard {

/// A number of a lesson, computed, beside what its source says.
struct ComputedFigure {
  const LessonFigure* figure = nullptr;
  double value = 0;  // in the unit
  struct Against {
    const LessonFigure::Claim* claim = nullptr;
    double deviation = 0;  // of the source's value, as a share
    bool holds = false;    // within, or refuted as the lesson says
  };
  std::vector<Against> against;
};

/// Any thread; what was run is kept. All of it throws Error{InvalidInput} where the settings
/// describe nothing that can be run, or a quantity does not belong to them.
class LessonEngine : public LessonQuantities {
 public:
  explicit LessonEngine(Lesson);

  const Lesson& lesson() const { return lesson_; }
  double quantity(std::string_view name, const LessonSettings&) const override;
  double quantity(std::string_view name, double index, const LessonSettings&) const override;
  /// Throws Error{InvalidInput} where it is not finite.
  double value(const Expression&, const LessonSettings&) const;
  /// With every number computed: figures under the lesson's own settings, the others under these.
  std::string text(const LessonText&, const LessonSettings&) const;
  /// The answer to a step's question, in its unit.
  double truth(std::size_t step) const;
  std::vector<ComputedFigure> figures() const;

  /// What the settings describe. Of a lesson about schedules, or about plans.
  std::shared_ptr<const ScheduleStudy> schedule(const LessonSettings&) const;
  std::shared_ptr<const ViewData> plan(const LessonSettings&) const;

 private:
  double of_schedule(std::string_view name, const LessonSettings&) const;
  double of_plan(std::string_view name, const LessonSettings&) const;
  double of_waves(std::string_view name, const LessonSettings&) const;
  std::shared_ptr<const Result> estimated(const LessonSettings&) const;

  Lesson lesson_;
  mutable std::mutex guard_;  // of what was run
  mutable std::map<std::string, std::shared_ptr<const ScheduleStudy>> schedules_;
  mutable std::map<std::string, std::shared_ptr<const ViewData>> plans_;
  mutable std::map<std::string, std::shared_ptr<const Result>> estimates_;
};

}  // namespace trainyard

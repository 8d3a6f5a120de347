// A LessonEngine evaluates the names in a lesson: it runs the scenario that the settings describe,
// once for each quantity asked about, and reads the answer from it.
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

/// A computed number of a lesson, beside the value of its source.
struct ComputedFigure {
  const LessonFigure* figure = nullptr;
  double value = 0;  // in the unit
  struct Against {
    const LessonFigure::Claim* claim = nullptr;
    double deviation = 0;  // relative deviation from the source's value
    bool holds = false;    // within the tolerance, or refuted as the lesson says
  };
  std::vector<Against> against;
};

/// May be used from any thread; results are cached. All functions throw Error{InvalidInput} if the
/// settings describe nothing that can be run, or if a quantity does not apply to them.
class LessonEngine : public LessonQuantities {
 public:
  explicit LessonEngine(Lesson);

  const Lesson& lesson() const { return lesson_; }
  double quantity(std::string_view name, const LessonSettings&) const override;
  double quantity(std::string_view name, double index, const LessonSettings&) const override;
  /// Throws Error{InvalidInput} if the value is not finite.
  double value(const Expression&, const LessonSettings&) const;
  /// The text with every number computed: figures under the lesson's own settings, others under
  /// these.
  std::string text(const LessonText&, const LessonSettings&) const;
  /// The answer to a step's question, in its unit.
  double truth(std::size_t step) const;
  std::vector<ComputedFigure> figures() const;

  /// The scenario that the settings describe, for a lesson about schedules or about plans
  /// respectively.
  std::shared_ptr<const ScheduleStudy> schedule(const LessonSettings&) const;
  std::shared_ptr<const ViewData> plan(const LessonSettings&) const;

 private:
  double of_schedule(std::string_view name, const LessonSettings&) const;
  double of_plan(std::string_view name, const LessonSettings&) const;
  double of_waves(std::string_view name, const LessonSettings&) const;
  std::shared_ptr<const Result> estimated(const LessonSettings&) const;

  Lesson lesson_;
  mutable std::mutex guard_;  // guards the cached results
  mutable std::map<std::string, std::shared_ptr<const ScheduleStudy>> schedules_;
  mutable std::map<std::string, std::shared_ptr<const ViewData>> plans_;
  mutable std::map<std::string, std::shared_ptr<const Result>> estimates_;
};

}  // namespace trainyard

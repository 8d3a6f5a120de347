// The comparison of schedules runs on a thread of its own, from the plan that the window shows.
#pragma once

#include <QObject>

#include <memory>
#include <string>
#include <thread>

#include "app/workspace/schedule_comparison.h"
#include "visualizers/schedules_view.h"

namespace trainyard {

/// Panels of a comparison: the plan's own schedule first, then what fits by step time, then what
/// is asynchronous and fits (never ranked by step time), then the rest.
std::vector<SchedulePanel> panels_of(const ScheduleComparison&, std::string_view own);

class Comparison : public QObject {
  Q_OBJECT

 public:
  using QObject::QObject;
  ~Comparison() override;  // stops and waits

  /// Compares the schedules of the experiment's plan at what its devices hold; returns at once.
  /// What is under way for an older experiment is stopped; one that is compared already is kept.
  void start(const ExperimentPtr&);
  bool running() const { return running_; }
  /// Of the newest experiment that was compared; null before the first.
  const SchedulesModel* model() const { return model_.get(); }
  /// Why there is none; empty where nothing went wrong.
  const std::string& error() const { return error_; }

 Q_SIGNALS:
  void changed();

 private:
  void stop();
  void work(std::stop_token, const Scenario&, quint64 ticket);

  std::shared_ptr<const SchedulesModel> model_;
  std::string error_;
  ExperimentPtr asked_;
  bool running_ = false;
  quint64 ticket_ = 0;
  std::jthread thread_;  // last: it uses all of the above
};

}  // namespace trainyard

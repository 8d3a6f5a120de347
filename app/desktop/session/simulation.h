// A Simulation runs on a thread of its own and delivers results by value: first the picture, then
// the priced fixes, then the effect of one step up or down of each setting. A newer request stops
// the older one.
#pragma once

#include <QHash>
#include <QObject>

#include <condition_variable>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>

#include "app/desktop/session/plan_problem.h"
#include "app/workspace/scenario/workspace.h"
#include "core/methods/settings/settings.h"
#include "core/result/experiment.h"
#include "visualizers/view_data.h"

namespace trainyard {

/// The simulated plan with one setting changed.
struct NeighbourPlan {
  std::string key, value;
  bool legal = false;
  bool fits = false;
  Duration step{};
  Bytes peak{};
  QString why_not;  // if it is not legal: one sentence in the words of the window
};

struct Outcome {
  ExperimentPtr experiment;              // null if it failed
  std::shared_ptr<const ViewData> data;  // the models that views derive from it
  std::string error;                     // a sentence if it failed
  PlanProblem problem;                   // the same in the words of the window, with fixes
  Diagnostics diagnostics;               // everything that check() reports, including warnings
  double milliseconds = 0;               // from the request to the experiment
  bool priced = false;                   // whether the verdict has fixes or the gain
  std::string calibrated;                // the source of the prices, a machine or rows; empty: none
  std::string not_calibrated;            // why a given calibration was not used
};

class Simulation : public QObject {
  Q_OBJECT

 public:
  explicit Simulation(QObject* parent = nullptr);
  ~Simulation() override;  // stops the work and waits

  /// Returns at once; stops the current job.
  void start(const Request&);
  void stop();
  bool running() const { return running_; }

 Q_SIGNALS:
  void finished(const trainyard::Outcome&);  // emitted without fixes first, then again with them
  void priced(const std::vector<trainyard::NeighbourPlan>&);
  void idle();  // emitted when all work is done

 private:
  struct Job {
    Request request;
    std::stop_token stop;
    quint64 ticket = 0;
  };
  /// Drops the request and stops the current job; its pending results are ignored.
  void cancel();
  void work(std::stop_token);
  void run(const Job&);

  // The last study of waves and the plan that it belongs to, used by the worker's thread only.
  // While the offset is dragged, the plan changes in nothing else and the study stays.
  std::string offsets_of_;
  std::shared_ptr<const WaveStudy> waves_;

  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::optional<Job> next_;
  std::stop_source stop_;
  quint64 ticket_ = 0;  // of the newest job; older results are dropped
  bool running_ = false;
  std::jthread thread_;  // last, because it uses all members above
};

/// The values one step below and above for a setting of a complete plan: the next power of two, or
/// the next word of its list; "" if there is none.
struct Steps {
  std::string down, up;
};
Steps steps_of(const Setting&, const Plan& complete);

}  // namespace trainyard

// Simulations run on a thread of their own and come back by value: first the picture, then the
// priced fixes, then what each setting would do one step up or down. A newer question stops the
// older one.
#pragma once

#include <QHash>
#include <QObject>

#include <condition_variable>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>

#include "app/workspace/scenario/workspace.h"
#include "core/methods/settings/settings.h"
#include "core/result/experiment.h"
#include "visualizers/view.h"

namespace trainyard {

/// What a plan is with one setting changed, as simulated.
struct NeighbourPlan {
  std::string key, value;
  bool legal = false;
  bool fits = false;
  Duration step{};
  Bytes peak{};
  std::string why_not;  // where it is not legal
};

struct Outcome {
  ExperimentPtr experiment;              // null when it failed
  std::shared_ptr<const ViewData> data;  // what views derive from it
  std::string error;                     // then a sentence
  Diagnostics diagnostics;               // all that check() says, warnings too
  double milliseconds = 0;               // from the request to the experiment
  bool priced = false;                   // its verdict carries fixes or the gain
  std::string calibrated;                // by what: a machine, somebody's rows; empty: not
  std::string not_calibrated;            // why a given calibration was not used
};

class Simulation : public QObject {
  Q_OBJECT

 public:
  explicit Simulation(QObject* parent = nullptr);
  ~Simulation() override;  // stops and waits

  /// Returns at once; stops what runs.
  void start(const Request&);
  void stop();
  bool running() const { return running_; }

 Q_SIGNALS:
  void finished(const trainyard::Outcome&);  // once without fixes, then once more with them
  void priced(const std::vector<trainyard::NeighbourPlan>&);
  void idle();  // nothing is left to do

 private:
  struct Job {
    Request request;
    std::stop_token stop;
    quint64 ticket = 0;
  };
  /// Forgets what is asked for and stops what runs; answers under way will not be heard.
  void cancel();
  void work(std::stop_token);
  void run(const Job&);

  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::optional<Job> next_;
  std::stop_source stop_;
  quint64 ticket_ = 0;  // of the newest job; older answers are dropped
  bool running_ = false;
  std::jthread thread_;  // last: it uses all of the above
};

/// The values one step below and above for a setting of a complete plan: the next power of two, or
/// the next word of its list; "" where there is none.
struct Steps {
  std::string down, up;
};
Steps steps_of(const Setting&, const Plan& complete);

}  // namespace trainyard

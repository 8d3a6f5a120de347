// A training run of the window: it goes on in a thread of its own, and the window reads what it
// says of itself thirty times a second.
#pragma once

#include <QObject>
#include <QTimer>

#include <memory>
#include <string>
#include <thread>

#include "app/desktop/live_reader.h"
#include "app/workspace/training_run.h"
#include "app/workspace/workspace.h"

namespace trainyard {

/// What the dialog asks.
struct TrainingWish {
  Request request;                    // its cluster is of cpu devices
  std::vector<std::string> training;  // "rate=0.1"
  std::int64_t steps = 100;
  RunMode mode = RunMode::VirtualTime;
  std::string data;  // empty = what suits the model
  bool evaluate = false;
};

class TrainingSession : public QObject {
  Q_OBJECT

 public:
  explicit TrainingSession(QObject* parent = nullptr);
  ~TrainingSession() override;  // stops after the step that is under way, and waits

  /// Returns at once; only while none is running.
  void start(const TrainingWish&);
  /// Ends after the step that is under way.
  void stop();
  bool running() const { return model_.running; }
  const RunModel& model() const { return model_; }
  /// Null before a run has ended.
  const std::shared_ptr<const TrainingReport>& report() const { return report_; }

 Q_SIGNALS:
  void changed();  // the model, at most thirty times a second
  void started();
  void finished();  // done, stopped or failed

 private:
  struct Prepared {
    ExperimentPtr predicted;
    std::shared_ptr<LiveSink> live;
  };
  void work(std::stop_token, const TrainingWish&);
  template <class F>
  void tell(F);
  void prepared(const Prepared&);
  void poll();
  void end(const std::shared_ptr<const TrainingReport>&, const std::string& error);

  RunModel model_;
  std::unique_ptr<LiveReader> reader_;
  std::shared_ptr<LiveSink> live_;
  std::shared_ptr<const TrainingReport> report_;
  QTimer frame_;
  std::vector<LiveSpan> spans_;
  std::vector<LiveMemory> memory_;
  std::vector<LiveStep> steps_;
  std::jthread thread_;  // last: it uses all of the above
};

}  // namespace trainyard

// A training run of the window: it goes on in a thread of its own, and the window reads what it
// says of itself sixty times a second.
#pragma once

#include <QElapsedTimer>
#include <QObject>
#include <QTimer>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "app/desktop/session/frame_rate.h"
#include "app/workspace/runs/live_reader.h"
#include "app/workspace/runs/training_run.h"
#include "app/workspace/scenario/workspace.h"

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
  /// Waits after the step that is under way, until resume() or stop(). What is computed is the
  /// same to the bit, and so is how long its steps took.
  void pause();
  void resume();
  bool running() const { return model_.running; }
  bool paused() const { return paused_; }
  /// Of the run that is under way or was the last.
  const TrainingWish& wish() const { return wish_; }
  const RunModel& model() const { return model_; }
  /// The picture of the model was painted once more.
  void count_frame();
  /// Null before a run has ended.
  const std::shared_ptr<const TrainingReport>& report() const { return report_; }

 Q_SIGNALS:
  void changed();  // the model, at most sixty times a second
  void started();
  void finished();  // done, stopped or failed

 private:
  struct Prepared {
    ExperimentPtr predicted;
    std::shared_ptr<LiveSink> live;
  };
  // Where a run waits between two steps.
  struct Gate {
    std::mutex mutex;
    std::condition_variable_any opened;
    bool closed = false;
  };
  void work(std::stop_token, const TrainingWish&, const std::shared_ptr<Gate>&);
  template <class F>
  void tell(F);
  void prepared(const Prepared&);
  void poll();
  void take_time();
  void set_gate(bool closed);
  /// The causes of the newest step that was measured whole.
  void compare_now();
  void end(const std::shared_ptr<const TrainingReport>&, const std::string& error);

  RunModel model_;
  TrainingWish wish_;
  std::shared_ptr<Gate> gate_;
  bool paused_ = false;
  int frames_ = 0;       // since the causes were looked at
  QElapsedTimer asked_;  // since start()
  QElapsedTimer going_;  // since the first span or the last resume()
  Duration before_{};    // of training, before going_
  FrameRate rate_;
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

// A TrainingSession is a training run of the window: it runs on a thread of its own, and the window
// reads its live events sixty times a second.
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

/// The user's answers in the dialog.
struct TrainingWish {
  Request request;                    // its cluster has cpu devices
  std::vector<std::string> training;  // "rate=0.1"
  std::int64_t steps = 100;
  RunMode mode = RunMode::VirtualTime;
  std::string data;  // empty = the default for the model
  bool evaluate = false;
  std::string start_from = {};            // checkpoint of another run; empty = none
  bool rules = false;                     // all rules watch the run
  bool stops_on_rule = false;             // and end it where one fires
  std::int64_t numbers = 0;               // their exponents are counted every so many updates; 0 =
                                          // never
  std::int64_t repeats = 1;               // of the run, one after another
  std::vector<RandomSource> varied = {};  // what each repeat draws anew
  std::int64_t repeat = 0;                // which of them this is, from 0
};
/// The training of the wish's own repeat. Throws Error{InvalidInput} for a wrong setting.
Training training_of(const TrainingWish&);

class TrainingSession : public QObject {
  Q_OBJECT

 public:
  explicit TrainingSession(QObject* parent = nullptr);
  ~TrainingSession() override;  // stops after the current step, and waits

  /// Returns at once; may only be called while none is running.
  void start(const TrainingWish&);
  /// Ends the run after the current step.
  void stop();
  /// Pauses after the current step, until resume() or stop(). Neither the results, to the bit, nor
  /// the step times change.
  void pause();
  void resume();
  bool running() const { return model_.running; }
  bool paused() const { return paused_; }
  /// The wish of the current or last run.
  const TrainingWish& wish() const { return wish_; }
  const RunModel& model() const { return model_; }
  /// Counts a painting of the model's picture.
  void count_frame();
  /// Null before a run has ended.
  const std::shared_ptr<const TrainingReport>& report() const { return report_; }

 Q_SIGNALS:
  void changed();  // the model changed; at most sixty times a second
  void started();
  void finished();  // done, stopped or failed

 private:
  struct Prepared {
    ExperimentPtr predicted;
    std::optional<AlignedWaves> aligned;
    std::shared_ptr<LiveSink> live;
  };
  // Holds a run between two steps.
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
  /// Computes the causes of the newest fully measured step.
  void compare_now();
  void end(const std::shared_ptr<const TrainingReport>&, const std::string& error);

  RunModel model_;
  TrainingWish wish_;
  std::shared_ptr<Gate> gate_;
  bool paused_ = false;
  int frames_ = 0;       // since the causes were last computed
  QElapsedTimer asked_;  // since start()
  QElapsedTimer going_;  // since the first span or the last resume()
  Duration before_{};    // training time before going_
  FrameRate rate_;
  std::unique_ptr<LiveReader> reader_;
  std::shared_ptr<LiveSink> live_;
  std::shared_ptr<const TrainingReport> report_;
  QTimer frame_;
  std::vector<LiveSpan> spans_;
  std::vector<LiveMemory> memory_;
  std::vector<LiveStep> steps_;
  std::jthread thread_;  // last, because it uses all members above
};

}  // namespace trainyard

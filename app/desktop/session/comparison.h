// A Comparison compares schedules on a thread of its own, for the plan that the window shows.
#pragma once

#include <QObject>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "app/workspace/schedules/schedule_panels.h"

namespace trainyard {

class Comparison : public QObject {
  Q_OBJECT

 public:
  using QObject::QObject;
  ~Comparison() override;  // stops the work and waits

  /// Compares schedules for the experiment's plan; returns at once. Work on another request is
  /// stopped, and this one begins when it has ended; a request that is already answered is kept.
  void start(const ExperimentPtr&, Bytes budget, std::vector<std::string> schedules);
  bool running() const { return running_; }
  /// The result for the newest experiment that was compared; null before the first.
  const SchedulesModel* model() const { return model_.get(); }
  /// Why there is no result; empty if nothing went wrong.
  const std::string& error() const { return error_; }

 Q_SIGNALS:
  void changed();

 private:
  struct Question {
    ExperimentPtr experiment;
    Bytes budget{};
    std::vector<std::string> schedules;
    friend bool operator==(const Question&, const Question&) = default;
  };
  struct Answer {
    std::shared_ptr<const SchedulesModel> model;
    std::string error;
    bool stopped = false;
  };
  void begin();
  void hear(const Answer&);

  std::shared_ptr<const SchedulesModel> model_;
  std::string error_;
  Question wanted_, asked_;
  bool running_ = false;
  std::jthread thread_;  // last, because it uses all members above
};

}  // namespace trainyard

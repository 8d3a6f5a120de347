// A BackgroundMeasurement measures something of this machine on a thread of its own, and delivers
// what it found by value.
#pragma once

#include <QObject>

#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>

#include "app/desktop/session/background.h"

namespace trainyard {

class BackgroundMeasurement : public QObject {
  Q_OBJECT

 public:
  using QObject::QObject;
  ~BackgroundMeasurement() override;  // stops the work and waits

  /// Asks the measurement to end. Where it has enough by then, that becomes the result.
  void stop() { stop_.request_stop(); }
  bool running() const { return work_.running(); }
  /// Share that is done, in [0, 1].
  double progress() const { return progress_; }
  /// Returns whether there is a result, of the last request or an earlier one.
  bool answered() const { return found_ != nullptr; }
  /// Why the last request has no result; empty if it has.
  const std::string& error() const { return error_; }
  /// Shows a refusal of what was asked for, in place of a measurement.
  void refuse(std::string why);

 Q_SIGNALS:
  void changed();

 protected:
  using Found = std::shared_ptr<const void>;
  using Measure = std::function<Found(std::stop_token, std::function<void(double)> progress)>;
  /// Returns at once; stops the current measurement.
  void begin(Measure);
  const Found& found_so_far() const { return found_; }

 private:
  double progress_ = 0;
  Found found_;
  std::string error_;
  std::stop_source stop_;
  Background work_{this};  // last, because it uses all members above
};

/// A BackgroundMeasurement that finds a Result.
template <class Result>
class MeasurementOf : public BackgroundMeasurement {
 public:
  using BackgroundMeasurement::BackgroundMeasurement;

  /// Returns at once; stops the current measurement. The earlier result stays until there is a new
  /// one. The question's own stop and progress are replaced; `measure` is called on another thread.
  template <class Question>
  void start(Question question, std::function<Result(const Question&)> measure) {
    begin([question = std::move(question), measure = std::move(measure)](
              std::stop_token stop, std::function<void(double)> progress) mutable -> Found {
      question.stop = std::move(stop), question.progress = std::move(progress);
      return std::make_shared<const Result>(measure(question));
    });
  }
  /// Null before the first result.
  std::shared_ptr<const Result> found() const {
    return std::static_pointer_cast<const Result>(found_so_far());
  }
};

}  // namespace trainyard

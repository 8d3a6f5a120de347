// A ProbeMeasurement measures the staircase of one op on a thread of its own, and delivers it by
// value.
#pragma once

#include <QObject>

#include <memory>
#include <string>

#include "app/desktop/session/background.h"
#include "app/workspace/runs/kernel_probe.h"

namespace trainyard {

class ProbeMeasurement : public QObject {
  Q_OBJECT

 public:
  using QObject::QObject;

  /// Returns at once; stops the current measurement. The earlier result stays until there is a new
  /// one. The question's own stop and progress are replaced.
  void start(ProbeQuestion);
  /// Asks the measurement to end; with enough rounds for intervals, these become the result.
  void stop() { stop_.request_stop(); }
  bool running() const { return work_.running(); }
  /// Share of the rounds, in [0, 1].
  double progress() const { return progress_; }
  /// Null before the first result.
  std::shared_ptr<const WidthProbe> found() const { return found_; }
  /// Why the last request has no result; empty if it has.
  const std::string& error() const { return error_; }
  /// Shows a refusal of what was asked for, in place of a measurement.
  void refuse(std::string why);

 Q_SIGNALS:
  void changed();

 private:
  double progress_ = 0;
  std::shared_ptr<const WidthProbe> found_;
  std::string error_;
  std::stop_source stop_;
  Background work_{this};  // last, because it uses all members above
};

}  // namespace trainyard

// A TuningSession tunes on a thread of its own: it delivers the trials as they are done. Stopping
// it keeps them.
#pragma once

#include <QObject>

#include <optional>
#include <stop_token>

#include "app/desktop/session/background.h"
#include "app/workspace/runs/tuning/tuning.h"
#include "core/base/error.h"

namespace trainyard {

class TuningSession : public QObject {
  Q_OBJECT

 public:
  using QObject::QObject;
  ~TuningSession() override;  // stops the work and waits

  /// Returns at once; stops the tuning under way. The trials of the one before stay until the first
  /// trial of this one is done, so that a question with an error loses nothing.
  void start(const TuneRequest&);
  /// Asks the tuning to end; a trial under way is dropped, those that are done stay.
  void stop() { stop_.request_stop(); }
  bool running() const { return work_.running(); }
  /// The trials so far, and the question that they answer; no families before the first tuning.
  const TuneReport& report() const { return report_; }
  const TuneRequest& request() const { return request_; }
  /// Returns whether no trial of the tuning under way is done yet.
  bool waiting() const { return running() && !told_; }
  /// Why the last question had no answer.
  const std::optional<Error>& error() const { return error_; }

 Q_SIGNALS:
  void changed();

 private:
  void take(const TuneRequest&, TuneReport);

  TuneReport report_;
  TuneRequest request_;
  bool told_ = false;
  std::optional<Error> error_;
  std::stop_source stop_;
  Background work_{this};  // last, because it uses all members above
};

}  // namespace trainyard

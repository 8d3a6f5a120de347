// A Sweeping runs a sweep on a thread of its own: it delivers the rows as they are found. Stopping
// it keeps the rows that were finished.
#pragma once

#include <QObject>

#include <cstdint>
#include <optional>
#include <stop_token>

#include "app/desktop/session/background.h"
#include "app/workspace/plans/sweep_study.h"
#include "core/base/error.h"

namespace trainyard {

class Sweeping : public QObject {
  Q_OBJECT

 public:
  using QObject::QObject;
  ~Sweeping() override;  // stops the work and waits

  /// Returns at once; stops the sweep under way. The rows of the one before stay until the first
  /// combination of this one begins, so that a question with an error loses nothing.
  void start(const SweepQuestion&);
  /// Asks the sweep to end; its rows so far stay.
  void stop() { stop_.request_stop(); }
  bool running() const { return work_.running(); }
  /// The rows so far, and the question that they answer; no axes before the first sweep. In place
  /// of a model or cluster that is a whole document it has the title of that.
  const SweepStudy& study() const { return study_; }
  const SweepQuestion& question() const { return question_; }
  /// The study with its axes as they were asked, as sweep() returns it.
  SweepStudy as_asked() const;
  /// The plans that the search of the combination under way has tried, and how many there are; 0
  /// where that is not known.
  std::uint64_t tried() const { return tried_; }
  std::uint64_t plans() const { return plans_; }
  /// Why the last question had no answer.
  const std::optional<Error>& error() const { return error_; }

 Q_SIGNALS:
  void changed();

 private:
  void take(const SweepQuestion&, SweepStudy);

  SweepStudy study_;
  SweepQuestion question_;
  std::uint64_t tried_ = 0, plans_ = 0;
  std::optional<Error> error_;
  std::stop_source stop_;
  Background work_{this};  // last, because it uses all members above
};

}  // namespace trainyard

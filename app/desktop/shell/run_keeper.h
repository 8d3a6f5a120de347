// A RunKeeper records each run that the window has trained in the list of runs. Of a run that is to
// be repeated it gives every repeat one tag, by which Compare finds them, and starts the next
// repeat when the one before is listed.
#pragma once

#include <QObject>
#include <QString>

#include <cstdint>
#include <optional>

#include "app/desktop/controls/run_list.h"
#include "app/desktop/session/training_session.h"

namespace trainyard {

class RunKeeper : public QObject {
  Q_OBJECT

 public:
  /// Both must outlive the keeper.
  RunKeeper(TrainingSession&, RunList&, QObject* parent = nullptr);

  /// The tag of the repeats, "repeat-7" after the number of the first one; empty where the newest
  /// run is not repeated, or nothing is kept.
  QString tag() const;
  /// How many repeats carry the tag.
  std::int64_t tagged() const { return tagged_; }

 Q_SIGNALS:
  void awaited();  // a run has ended and is being recorded
  /// The run is listed under this number; nothing where it is not kept.
  void kept(std::optional<std::int64_t> number);

 private:
  void keep();
  void hear(std::optional<std::int64_t> number);

  TrainingSession& training_;
  RunList& runs_;
  std::optional<std::int64_t> first_;  // of the repeats
  std::int64_t tagged_ = 0;
};

}  // namespace trainyard

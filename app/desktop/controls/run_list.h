// The list of past runs as the window has it: one file, written to when a run
// ends, read again when somebody looks.
#pragma once

#include <QObject>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/desktop/session/background.h"
#include "app/workspace/runs/run_recording.h"
#include "app/workspace/runs/run_store.h"

namespace trainyard {

class TrainingSession;

class RunList : public QObject {
  Q_OBJECT

 public:
  using QObject::QObject;

  /// Runs are kept in this file from now on; empty: none are.
  void use(std::string path);
  const std::string& path() const { return path_; }
  /// What went wrong last, as a sentence; empty where nothing did.
  const std::string& error() const { return error_; }

  /// Newest first; words as RunStore::list has them. Empty where there is no
  /// file yet, or error().
  std::vector<RunEntry> entries(std::string_view words = {});
  /// Throws as RunStore::get does.
  RecordedRun get(std::int64_t id) const;
  using Heard = std::function<void(std::optional<std::int64_t>)>;
  /// Writes the run on a thread of its own, since a recording may be large, and then says on the
  /// window's the number that it has; nothing where it is not kept. What is being written when the
  /// list goes is written to its end.
  void record(std::shared_ptr<const TrainingReport>, RunWords, Heard);
  void set_note(std::int64_t id, const std::string& note);
  /// Puts exactly these on it.
  void set_tags(std::int64_t id, const std::vector<std::string>& tags);
  void remove(std::int64_t id);

 Q_SIGNALS:
  void changed();

 private:
  template <class F>
  void change(F with_store);
  std::string path_, error_;
  Background work_{this};  // last: it uses all of the above
};

}  // namespace trainyard

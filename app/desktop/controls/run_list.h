// A RunList is the window's access to the list of past runs: one file, written when a run ends and
// read again when it is shown.
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

  /// Keeps runs in this file from now on; with an empty path, none are kept.
  void use(std::string path);
  const std::string& path() const { return path_; }
  /// The last error as a sentence; empty if there was none.
  const std::string& error() const { return error_; }

  /// The runs, newest first; `words` as in RunStore::list(). Empty if there is no file yet, or on
  /// error().
  std::vector<RunEntry> entries(std::string_view words = {});
  /// Throws as RunStore::get() does.
  RecordedRun get(std::int64_t id) const;
  using Heard = std::function<void(std::optional<std::int64_t>)>;
  /// Writes the run on a thread of its own, since a recording may be large, then calls `heard` on
  /// the window's thread with the run's number, or with nothing if it was not kept. A write in
  /// progress when the list is destroyed is completed.
  void record(std::shared_ptr<const TrainingReport>, RunWords, Heard);
  void set_note(std::int64_t id, const std::string& note);
  void add_tag(std::int64_t id, const std::string& tag);
  /// Replaces the run's tags.
  void set_tags(std::int64_t id, const std::vector<std::string>& tags);
  void remove(std::int64_t id);

 Q_SIGNALS:
  void changed();

 private:
  template <class F>
  void change(F with_store);
  std::string path_, error_;
  Background work_{this};  // last, because it uses all members above
};

}  // namespace trainyard

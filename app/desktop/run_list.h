// The list of past runs as the window has it: one file, written to when a run
// ends, read again when somebody looks.
#pragma once

#include <QObject>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/workspace/run_recording.h"
#include "app/workspace/run_store.h"

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
  /// The number that the run has on it; nothing where it is not kept.
  std::optional<std::int64_t> record(const TrainingReport&, const RunWords&);
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
};

}  // namespace trainyard

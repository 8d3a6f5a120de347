// The run list: every training run that was recorded, what it was asked, what came out, and what
// somebody wrote about it. It is one SQLite file. Several processes may read and change it at once,
// and one that dies in the middle of a change leaves the list as it was before.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/units.h"

namespace trainyard {

/// A run as the list shows it. Text is UTF-8 without zero bytes.
struct RunEntry {
  std::int64_t id = 0;  // given by the list, from 1 on; the number of a removed run is not reused
  std::string started;  // UTC, "2026-11-22T13:45:10Z"
  std::string name;     // "gpt-tiny on cpu:4"
  std::string model, cluster, plan;   // as a Request has them
  std::vector<std::string> settings;  // "tp=2"
  std::vector<std::string> training;  // "rate=0.1", as --train has them
  std::string calibration;            // the file that priced the prediction; empty = none
  std::string data;                   // what it was trained on, in words
  std::string outcome;                // "done", "stopped"
  std::int64_t steps = 0;             // updates done
  std::optional<double> loss;         // of the last update, where it is a finite number
  std::optional<Duration> step, predicted_step;
  std::optional<Bytes> peak, predicted_peak;  // of the fullest device
  std::string note;
  std::vector<std::string> tags;  // in order of the alphabet, each once
  friend bool operator==(const RunEntry&, const RunEntry&) = default;
};

/// The same with what it measured.
struct RecordedRun {
  RunEntry entry;
  std::string document;  // trainyard/run@1
  std::string timeline;  // trainyard/timeline@1; empty where no step was measured whole
  friend bool operator==(const RecordedRun&, const RecordedRun&) = default;
};

/// $TRAINYARD_RUNS; else trainyard/runs.sqlite in $XDG_DATA_HOME, else in ~/.local/share. Throws
/// Error{InvalidInput} where none of the three says a place.
std::string run_store_path();

/// One open list, for one thread. Every function may wait for other processes, at most half a
/// minute, and throws Error{Io} when the file cannot be read or written.
class RunStore {
 public:
  /// Opens the file or makes it, with its folder. Throws Error{InvalidInput} for a file that is no
  /// run list or that a newer version wrote.
  explicit RunStore(std::string path);
  ~RunStore();
  RunStore(const RunStore&) = delete;
  RunStore& operator=(const RunStore&) = delete;

  const std::string& path() const { return path_; }

  /// Its id is ignored; returns the one it was given. Throws Error{InvalidInput} for a tag that is
  /// none.
  std::int64_t add(const RecordedRun&);
  /// Newest first. words: what every run of the answer has somewhere in its name, model, cluster,
  /// plan, settings, data, outcome, date, note or tags, each word for itself and in either case
  /// (of ASCII letters); "tag:good" asks for that very tag. Empty: all. Throws Error{InvalidInput}
  /// for more than 100 words.
  std::vector<RunEntry> list(std::string_view words = {}) const;
  /// These throw Error{InvalidInput} where no run has the number, saying which there are.
  RecordedRun get(std::int64_t id) const;
  void set_note(std::int64_t id, std::string_view note);
  /// A tag is 1 to 64 bytes without blanks and commas; else Error{InvalidInput}. One that is there
  /// already, or is not there to be taken off, changes nothing.
  void add_tag(std::int64_t id, std::string_view tag);
  void remove_tag(std::int64_t id, std::string_view tag);
  void remove(std::int64_t id);

 private:
  struct Database;
  void expect_run(std::int64_t id) const;
  std::string path_;
  std::unique_ptr<Database> db_;
};

}  // namespace trainyard

// The run store is the list of all recorded training runs: what was asked, what the result was, and
// the user's notes. It is one SQLite file. Several processes may read and change it at once, and
// one that dies during a change leaves the list as it was before.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/units.h"

namespace trainyard {

/// A run as shown in the list. Text is UTF-8 without zero bytes.
struct RunEntry {
  // Assigned by the list, counting from 1; the number of a removed run is not reused.
  std::int64_t id = 0;
  std::string started;                // UTC, "2026-11-22T13:45:10Z"
  std::string name;                   // "gpt-tiny on cpu:4"
  std::string model, cluster, plan;   // as in a Request
  std::vector<std::string> settings;  // "tp=2"
  std::vector<std::string> training;  // "rate=0.1", as --train takes them
  std::string calibration;            // file of the prices of the prediction; empty = none
  std::string data;                   // what it was trained on, in words
  std::string outcome;                // "done", "stopped"
  std::int64_t steps = 0;             // number of updates done
  std::optional<double> loss;         // of the last update, if it is finite
  std::optional<Duration> step, predicted_step;
  std::optional<Bytes> peak, predicted_peak;  // of the fullest device
  std::string note;
  std::vector<std::string> tags;  // sorted, without duplicates
  friend bool operator==(const RunEntry&, const RunEntry&) = default;
};

/// A run with its measurements.
struct RecordedRun {
  RunEntry entry;
  std::string document;  // trainyard/run@1
  std::string timeline;  // trainyard/timeline@1; empty if no step was fully measured
  friend bool operator==(const RecordedRun&, const RecordedRun&) = default;
};

/// The value of $TRAINYARD_RUNS, else trainyard/runs.sqlite in $XDG_DATA_HOME, else in
/// ~/.local/share. Throws Error{InvalidInput} if none of the three gives a path.
std::string run_store_path();

/// An open list, for use on one thread. Every function may wait for other processes, for at most
/// half a minute, and throws Error{Io} if the file cannot be read or written.
class RunStore {
 public:
  /// Opens the file, or creates it together with its folder. Throws Error{InvalidInput} for a file
  /// that is not a run list or that a newer version wrote.
  explicit RunStore(std::string path);
  ~RunStore();
  RunStore(const RunStore&) = delete;
  RunStore& operator=(const RunStore&) = delete;

  const std::string& path() const { return path_; }

  /// Adds a run, ignoring its id, and returns the id assigned. Throws Error{InvalidInput} for an
  /// invalid tag.
  std::int64_t add(const RecordedRun&);
  /// Lists runs, newest first. Every word must occur in a run's name, model, cluster, plan,
  /// settings, data, outcome, date, note or tags, in either case (of ASCII letters); "tag:good"
  /// asks for exactly that tag. No words: all runs. Throws Error{InvalidInput} for more than 100
  /// words.
  std::vector<RunEntry> list(std::string_view words = {}) const;
  /// The following throw Error{InvalidInput} if no run has the number, listing the numbers there
  /// are.
  RecordedRun get(std::int64_t id) const;
  void set_note(std::int64_t id, std::string_view note);
  /// A tag is 1 to 64 bytes without blanks and commas; otherwise throws Error{InvalidInput}. Adding
  /// an existing tag or removing an absent one changes nothing.
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

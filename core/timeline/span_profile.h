// A SpanProfile is a profile that corrects itself: the same work is run many times, without a
// recorder, with one that notes nothing, with records of each level alone, without those of each
// level, and with all. A record costs more among many others than alone, because they share caches:
// its cost is the mean of what a level adds as the first one and as the last one. With that the run
// of all records is corrected.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "core/base/clock.h"
#include "core/timeline/corrected_spans.h"
#include "core/timeline/span_recorder.h"
#include "core/timeline/span_times.h"

namespace trainyard {

struct ProfileOptions {
  SpanLevels levels = SpanLevels::all();      // that are recorded
  SpanLevels calibrated = SpanLevels::all();  // whose cost is measured, of those that are recorded
  int rounds = 5;                             // at least 1
  std::stop_token stop = {};                  // ends after a whole round
  std::function<void(double)> progress = {};  // called with the share done, in [0, 1]
  /// By which records are found to cost something; empty = the profile's clock. The time that the
  /// calling thread has had of its processor leaves out what other programs took from it, but is
  /// right only where that thread does all of the work.
  std::function<Duration()> processor_time = {};
};

struct SpanProfile {
  ProfileOptions options;  // rounds: those that were whole
  Duration bare{};         // median time of the work without a recorder
  /// By round: the time without a recorder and that with all records.
  std::vector<PairedTimes> totals;
  NestedSpans recorded, corrected;  // of the round whose recorded run took the median time
  SpanOverheads overheads;          // of levels that have spans, in the recorded run
  std::array<std::int64_t, kSpanLevels> counts{};  // spans by level, of one run

  Duration raw_time() const { return recorded.whole.length(); }
  Duration corrected_time() const { return corrected.whole.length(); }
  std::int64_t spans() const;  // of all levels
  /// What all spans of a level are said to have added, beside passing().
  Duration added_by(SpanLevel) const;
  /// What it took to pass all places where something is noted or might be.
  Duration passing() const;
};

/// A profile with what it was of.
struct ProfileStudy {
  std::string work;  // in words
  SpanProfile spans;
  std::optional<DeviceUse> use = {};  // of the corrected spans; nothing where none are kernels
  std::vector<double> episode_lengths = {};  // mean before each update; empty where nothing acts
};

/// Prepares the work once more, to be recorded or with null not to be, and returns what does it;
/// the names of its spans must stay valid as long as that. The work must be the same each time.
using ProfiledWork = std::function<std::function<void()>(SpanRecorder*)>;

/// Blocks. Runs the work once more before the first round, which is not counted. Work that is told
/// to stop may throw Error{Cancelled}. Throws Error{InvalidInput} where a level is recorded and not
/// calibrated, Error{Cancelled} when stopped before a round was whole.
SpanProfile profile_spans(const ProfiledWork&, const Clock&, const ProfileOptions&);

/// The time of one row of exclusive_times() before and after correction.
struct ProfileRow {
  std::string annotations;
  std::optional<SpanLevel> level;
  bool busy = false;
  Duration raw{}, corrected{};
};
/// Adds up to the raw and the corrected time, times the number of threads.
std::vector<ProfileRow> profile_rows(const SpanProfile&);

}  // namespace trainyard

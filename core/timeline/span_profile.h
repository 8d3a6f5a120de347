// A SpanProfile is a profile that corrects itself: the same work is run many times, without
// records, with those of one level each, and with all that were asked for. From the first two
// follows what a record costs, and with that the last one is corrected.
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
};

struct SpanProfile {
  ProfileOptions options;           // rounds: those that were whole
  Duration bare{};                  // median time of the work without records
  NestedSpans recorded, corrected;  // of the round whose recorded run took the median time
  SpanOverheads overheads;          // of levels that have spans
  std::array<std::int64_t, kSpanLevels> counts{};  // spans by level, of one run

  Duration raw_time() const { return recorded.whole.length(); }
  Duration corrected_time() const { return corrected.whole.length(); }
  /// What all spans of a level are said to have added.
  Duration added_by(SpanLevel) const;
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

#include "core/timeline/span_profile.h"

#include <algorithm>
#include <utility>

#include "core/base/error.h"
#include "core/base/median.h"

namespace trainyard {
namespace {

void expect_calibrated(const ProfileOptions& options) {
  SpanLevels lacking;
  for (const SpanLevel level : kEverySpanLevel)
    if (options.levels.has(level) && !options.calibrated.has(level)) lacking = lacking.with(level);
  if (!lacking.empty())
    refuse("expected every recorded level (" + to_string(options.levels) +
           ") among those whose cost is measured (" + to_string(options.calibrated) +
           "), found none of " + to_string(lacking) +
           ": a profile with records of unknown cost cannot be corrected");
}

class Profiling {
 public:
  Profiling(const ProfiledWork& work, const Clock& clock) : work_(work), clock_(clock) {}

  Duration bare() const {
    const std::function<void()> run = work_(nullptr);
    const Instant start = clock_.now();
    run();
    return clock_.now() - start;
  }
  NestedSpans recorded(SpanLevels levels) {
    SpanRecorder recorder(clock_, levels, expected_);
    const std::function<void()> run = work_(&recorder);
    recorder.start();
    run();
    NestedSpans spans = recorder.finish();
    for (const auto& thread : spans.threads) expected_ = std::max(expected_, thread.size());
    return spans;
  }

 private:
  const ProfiledWork& work_;
  const Clock& clock_;
  std::size_t expected_ = 0;
};

}  // namespace

Duration SpanProfile::added_by(SpanLevel level) const {
  const auto l = static_cast<std::size_t>(level);
  if (!overheads.each[l]) return {};
  return std::chrono::round<Duration>(*overheads.each[l] * counts[l]);
}

SpanProfile profile_spans(const ProfiledWork& work, const Clock& clock,
                          const ProfileOptions& options) {
  expect_calibrated(options);
  SpanProfile profile;
  profile.options = options;
  Profiling profiling(work, clock);
  profile.counts = span_counts(profiling.recorded(options.levels));
  // One run without records, one of each level that has spans, and one of all.
  std::vector<SpanLevels> kinds{{}};
  for (const SpanLevel level : kEverySpanLevel)
    if (profile.counts[static_cast<std::size_t>(level)] > 0)
      kinds.push_back(SpanLevels().with(level));
  kinds.push_back(options.levels);

  std::vector<Duration> bare;
  std::array<std::vector<PairedTimes>, kSpanLevels> pairs;
  std::vector<NestedSpans> recorded;
  const std::size_t runs = kinds.size() * static_cast<std::size_t>(options.rounds);
  std::size_t done = 0;
  const auto run_round = [&](std::size_t first) {
    std::vector<Duration> times(kinds.size());
    NestedSpans all;
    for (std::size_t i = 0; i < kinds.size(); ++i) {
      const std::size_t k = (i + first) % kinds.size();
      if (k == 0) {
        times[k] = profiling.bare();
      } else {
        NestedSpans spans = profiling.recorded(kinds[k]);
        times[k] = spans.whole.length();
        if (k + 1 == kinds.size()) all = std::move(spans);
      }
      if (options.progress)
        options.progress(static_cast<double>(++done) / static_cast<double>(runs));
    }
    bare.push_back(times.front());
    recorded.push_back(std::move(all));
    for (std::size_t k = 1; k + 1 < kinds.size(); ++k)
      for (const SpanLevel level : kEverySpanLevel)
        if (kinds[k].has(level))
          pairs[static_cast<std::size_t>(level)].push_back({times.front(), times[k]});
  };
  int round = 0;
  for (; round < options.rounds && !options.stop.stop_requested(); ++round) try {
      // Each round begins with another of them, so that none is always the first.
      run_round(static_cast<std::size_t>(round));
    } catch (const Error& error) {
      if (error.kind() != Error::Kind::Cancelled || round == 0) throw;
      break;
    }
  if (round == 0) throw Error(Error::Kind::Cancelled, "the profile was stopped in its first round");
  profile.options.rounds = round;
  profile.bare = median(bare);
  for (std::size_t l = 0; l < kSpanLevels; ++l)
    if (!pairs[l].empty()) profile.overheads.each[l] = span_overhead(pairs[l], profile.counts[l]);
  const auto middle = recorded.begin() + static_cast<std::ptrdiff_t>((recorded.size() - 1) / 2);
  std::nth_element(recorded.begin(), middle, recorded.end(),
                   [](const NestedSpans& a, const NestedSpans& b) {
                     return a.whole.length() < b.whole.length();
                   });
  profile.recorded = std::move(*middle);
  profile.corrected = corrected(profile.recorded, profile.overheads);
  return profile;
}

std::vector<ProfileRow> profile_rows(const SpanProfile& profile) {
  std::vector<ProfileRow> rows;
  for (const SpanTime& time : exclusive_times(profile.recorded))
    rows.push_back({time.annotations, time.level, time.busy, time.time, {}});
  // A row of corrected times whose raw ones were other rows of the same spans may be new.
  for (const SpanTime& time : exclusive_times(profile.corrected)) {
    const auto found = std::find_if(rows.begin(), rows.end(), [&](const ProfileRow& row) {
      return row.annotations == time.annotations && row.level == time.level &&
             row.busy == time.busy;
    });
    if (found != rows.end())
      found->corrected = time.time;
    else
      rows.push_back({time.annotations, time.level, time.busy, {}, time.time});
  }
  return rows;
}

}  // namespace trainyard

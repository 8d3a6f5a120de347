#include "core/timeline/span_profile.h"

#include <algorithm>
#include <cmath>
#include <numeric>
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

// A run with all records.
struct Recording {
  Duration time{}, processor{};
  NestedSpans spans;
};

// Runs the work, and says how long it took by the profile's clock and by the processor's.
class Profiling {
 public:
  struct Took {
    Duration time{}, processor{};
  };

  Profiling(const ProfiledWork& work, const Clock& clock,
            const std::function<Duration()>& processor_time)
      : work_(work), clock_(clock), processor_time_(processor_time) {}

  // Memory for records is prepared as for a run that has some, so that caches are in one state.
  Took bare() const {
    const SpanRecorder unused(clock_, {}, expected_);
    const std::function<void()> run = work_(nullptr);
    const Duration before = processor_now();
    const Instant start = clock_.now();
    run();
    const Duration time = clock_.now() - start;
    return {time, processor_time_ ? processor_now() - before : time};
  }
  Took recorded(SpanLevels levels, NestedSpans& into) {
    SpanRecorder recorder(clock_, levels, expected_);
    const std::function<void()> run = work_(&recorder);
    const Duration before = processor_now();
    recorder.start();
    run();
    recorder.stop();
    const Duration processor = processor_now() - before;
    into = recorder.finish();
    for (const auto& thread : into.threads) expected_ = std::max(expected_, thread.size());
    const Duration time = into.whole.length();
    return {time, processor_time_ ? processor : time};
  }

 private:
  Duration processor_now() const { return processor_time_ ? processor_time_() : Duration{}; }

  const ProfiledWork& work_;
  const Clock& clock_;
  const std::function<Duration()>& processor_time_;
  std::size_t expected_ = 0;
};

}  // namespace

Duration SpanProfile::added_by(SpanLevel level) const {
  const auto l = static_cast<std::size_t>(level);
  if (!overheads.each[l]) return {};
  return std::chrono::round<Duration>(*overheads.each[l] * counts[l]);
}

std::int64_t SpanProfile::spans() const {
  return std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
}

Duration SpanProfile::passing() const {
  return std::chrono::round<Duration>(overheads.passing * spans());
}

SpanProfile profile_spans(const ProfiledWork& work, const Clock& clock,
                          const ProfileOptions& options) {
  expect_calibrated(options);
  SpanProfile profile;
  profile.options = options;
  Profiling profiling(work, clock, options.processor_time);
  NestedSpans warm;
  profiling.recorded(options.levels, warm);
  profile.counts = span_counts(warm);
  std::vector<SpanLevel> levels;
  for (const SpanLevel level : kEverySpanLevel)
    if (profile.counts[static_cast<std::size_t>(level)] > 0) levels.push_back(level);
  // One run without a recorder, one with a recorder that notes nothing, one of each level alone,
  // one without each level, and one of all.
  std::vector<SpanLevels> kinds{{}, {}};
  for (const SpanLevel level : levels) kinds.push_back(SpanLevels().with(level));
  for (const SpanLevel level : levels) kinds.push_back(options.levels.without(level));
  kinds.push_back(options.levels);

  std::vector<Duration> bare;
  std::vector<PairedTimes> passing;
  std::array<std::vector<PairedTimes>, kSpanLevels> first_in, last_in;
  std::vector<Recording> recorded;
  const std::size_t runs = kinds.size() * static_cast<std::size_t>(options.rounds);
  std::size_t done = 0;
  const auto run_round = [&](std::size_t first) {
    std::vector<Profiling::Took> took(kinds.size());
    NestedSpans all, others;
    for (std::size_t i = 0; i < kinds.size(); ++i) {
      const std::size_t k = (i + first) % kinds.size();
      NestedSpans& into = k + 1 == kinds.size() ? all : others;
      took[k] = k == 0 ? profiling.bare() : profiling.recorded(kinds[k], into);
      if (options.progress)
        options.progress(static_cast<double>(++done) / static_cast<double>(runs));
    }
    bare.push_back(took.front().time);
    recorded.push_back({took.back().time, took.back().processor, std::move(all)});
    profile.totals.push_back({took.front().time, took.back().time});
    passing.push_back({took[0].processor, took[1].processor});
    for (std::size_t i = 0; i < levels.size(); ++i) {
      const auto l = static_cast<std::size_t>(levels[i]);
      first_in[l].push_back({took[1].processor, took[2 + i].processor});
      last_in[l].push_back({took[2 + levels.size() + i].processor, took.back().processor});
    }
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
  const auto shorter = [](const Recording& x, const Recording& y) { return x.time < y.time; };
  const auto middle = recorded.begin() + static_cast<std::ptrdiff_t>((recorded.size() - 1) / 2);
  std::nth_element(recorded.begin(), middle, recorded.end(), shorter);
  // Other programs had a share of the processor while records were noted, as at any other time.
  const double stretch =
      middle->processor > Duration{}
          ? std::max(1.0, to_seconds(middle->time) / to_seconds(middle->processor))
          : 1;
  const auto stretched = [&](Picoseconds time) {
    return Picoseconds(std::llround(static_cast<double>(time.count()) * stretch));
  };
  for (const SpanLevel level : levels) {
    const auto l = static_cast<std::size_t>(level);
    profile.overheads.each[l] = stretched((span_overhead(first_in[l], profile.counts[l]) +
                                           span_overhead(last_in[l], profile.counts[l])) /
                                          2);
  }
  if (profile.spans() > 0)
    profile.overheads.passing = stretched(span_overhead(passing, profile.spans()));
  profile.recorded = std::move(middle->spans);
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

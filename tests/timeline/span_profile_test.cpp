#include "core/timeline/span_profile.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>

#include "core/base/error.h"
#include "tests/support/refusal.h"

namespace trainyard {
namespace {

using namespace std::chrono_literals;

/// A clock that takes time to be read, so that a recorder's records take two reads each.
class SlowClock final : public Clock {
 public:
  explicit SlowClock(Duration read) : read_(read) {}
  Instant now() const override {
    now_ += read_;
    return now_;
  }
  void advance(Duration d) { now_ += d; }

 private:
  Duration read_;
  mutable Instant now_{};
};

// Works for a while at each level; the kernels of all ops take 1 ms, everything else 0.3 ms.
ProfiledWork made_work(SlowClock& clock, int ops) {
  return [&clock, ops](SpanRecorder* recorder) -> std::function<void()> {
    return [&clock, ops, recorder] {
      const RecordingThread here(recorder);
      const RecordedSpan update(SpanLevel::Annotation, "update");
      clock.advance(100us);
      const RecordedSpan task(SpanLevel::Task, "forward");
      clock.advance(200us);
      for (int i = 0; i < ops; ++i) {
        const RecordedSpan op(SpanLevel::Op, "product"), kernel(SpanLevel::Kernel, "matmul");
        clock.advance(Duration{1ms} / ops);
      }
    };
  };
}

TEST(SpanProfile, GivesBackTheTimeWithoutRecordsExactly) {
  // 10^5 events: 25,000 ops with a kernel each, which add 2.5 ms to a work of 1.3 ms.
  SlowClock clock(25ns);
  ProfileOptions options;
  options.rounds = 3;
  const SpanProfile profile = profile_spans(made_work(clock, 25'000), clock, options);
  EXPECT_EQ(profile.bare, 1300us + 25ns);
  EXPECT_EQ(profile.counts, (std::array<std::int64_t, 4>{1, 1, 25'000, 25'000}));
  for (const auto& each : profile.overheads.each) EXPECT_EQ(each, Picoseconds(50'000));
  EXPECT_EQ(profile.raw_time(), profile.bare + 50ns * 50'002);
  EXPECT_EQ(profile.corrected_time(), profile.bare);
  EXPECT_EQ(profile.added_by(SpanLevel::Kernel), 50ns * 25'000);
  Duration kernels{}, raw{}, corrected{};
  for (const ProfileRow& row : profile_rows(profile)) {
    raw += row.raw, corrected += row.corrected;
    if (row.busy) kernels += row.corrected;
  }
  EXPECT_EQ(raw, profile.raw_time());
  EXPECT_EQ(corrected, profile.corrected_time());
  EXPECT_EQ(kernels, 1ms);
}

TEST(SpanProfile, RecordsAndMeasuresTheLevelsThatWereAskedFor) {
  SlowClock clock(10ns);
  ProfileOptions options;
  options.levels = options.calibrated = span_levels("op", "--kinds");
  const SpanProfile profile = profile_spans(made_work(clock, 4), clock, options);
  EXPECT_EQ(profile.counts, (std::array<std::int64_t, 4>{0, 0, 4, 0}));
  EXPECT_FALSE(profile.overheads.each[0]);
  EXPECT_EQ(profile.corrected_time(), profile.bare);
}

TEST(SpanProfile, RefusesLevelsWhoseCostIsNotMeasuredBeforeItRuns) {
  SlowClock clock(10ns);
  ProfileOptions options;
  options.calibrated = span_levels("annotation,op", "--calibrate");
  const ProfiledWork never = [](SpanRecorder*) -> std::function<void()> {
    ADD_FAILURE() << "nothing is run";
    return [] {};
  };
  EXPECT_EQ(
      testing::refusal([&] { profile_spans(never, clock, options); }),
      "expected every recorded level (annotation, task, op, kernel) among those whose cost is "
      "measured (annotation, op), found none of task, kernel: a profile with records of "
      "unknown cost cannot be corrected");
}

TEST(SpanProfile, StopsAfterAWholeRound) {
  SlowClock clock(10ns);
  std::stop_source stop;
  ProfileOptions options;
  options.rounds = 9, options.stop = stop.get_token();
  options.progress = [&](double share) {
    if (share > 0.3) stop.request_stop();
  };
  EXPECT_EQ(profile_spans(made_work(clock, 4), clock, options).options.rounds, 3);
  EXPECT_THROW(profile_spans(made_work(clock, 4), clock, options), Error);
}

TEST(SpanRecorder, KeepsThreadsApartAndNothingOfThoseThatDoNotRecord) {
  const ManualClock clock;
  SpanRecorder recorder(clock, SpanLevels::all());
  const auto work = [](SpanRecorder* into, const char* name) {
    const RecordingThread here(into);
    const RecordedSpan span(SpanLevel::Task, name);
  };
  work(&recorder, "here");
  std::thread(work, &recorder, "there").join();
  std::thread(work, nullptr, "nowhere").join();
  work(nullptr, "nowhere");
  const NestedSpans found = recorder.finish();
  ASSERT_EQ(found.threads.size(), 2);
  EXPECT_EQ(found.names, (std::vector<std::string>{"here", "there"}));
  for (const auto& thread : found.threads) EXPECT_EQ(thread.size(), 2);
}

}  // namespace
}  // namespace trainyard

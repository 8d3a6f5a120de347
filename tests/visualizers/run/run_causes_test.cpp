// Tests the causes of a residual in words, and which part of a run is furthest from its prediction.
#include "visualizers/run/run_causes.h"

#include <gtest/gtest.h>

#include "tests/visualizers/run/run_models.h"

namespace trainyard {
namespace {

using namespace std::chrono_literals;
using namespace testing_experiment;
using testing_run::done;
using testing_run::half_way;

TEST(RunCauses, EveryOriginHasItsWords) {
  const RunModel model = done();
  const Program& program = model.predicted->program;
  const auto words = [&](OriginKind kind, Duration predicted, Duration measured) {
    CauseResidual cause{"forward", predicted, measured, {kind, {0}, 5, predicted, measured}};
    return cause_words(cause, program);
  };
  EXPECT_EQ(words(OriginKind::None, 2ms, 2ms), "");
  EXPECT_EQ(words(OriginKind::Span, 2ms, 3ms), "one slow span: stage 0 F0");
  EXPECT_EQ(words(OriginKind::Span, 3ms, 2ms), "one quick span: stage 0 F0");
  EXPECT_EQ(words(OriginKind::Work, 2ms, 3ms), "mostly forward, +50.0 %");
  EXPECT_EQ(words(OriginKind::Work, 0ms, 3ms), "mostly forward, not predicted");
  EXPECT_EQ(words(OriginKind::Spread, 4ms, 3ms), "5 kinds of work, most forward, \u221225.0 %");
  EXPECT_EQ(words(OriginKind::Hidden, 2ms, 3ms), "less of the transfers behind work");
  EXPECT_EQ(words(OriginKind::Hidden, 3ms, 2ms), "more of the transfers behind work");
  EXPECT_EQ(words(OriginKind::Fill, 2ms, 3ms), "mostly while the pipeline fills");
  EXPECT_EQ(words(OriginKind::Drain, 2ms, 3ms), "mostly while the pipeline drains");
}

TEST(RunCauses, FiguresStandBehindTheWords) {
  const RunModel model = done();
  const Program& program = model.predicted->program;
  EXPECT_EQ(cause_figures({"forward", 8ms, 9ms, {OriginKind::Work, {0}, 0, 8ms, 9ms}}, program),
            "forward 9.00 ms, predicted 8.00 ms");
  EXPECT_EQ(cause_figures({"bubble", 8ms, 9ms, {OriginKind::Fill, {}, 0, 2ms, 3ms}}, program),
            "waits there 3.00 ms, predicted 2.00 ms");
  EXPECT_EQ(cause_figures({"host", 8ms, 8ms, {}}, program), "");
}

TEST(RunCauses, MemoryIsHeldAgainstItsOwnMost) {
  WaveResidual wave;
  wave.predicted_most[0] = wave.measured_most[0] = 4_GiB;
  EXPECT_EQ(memory_cause(wave, Category{0}, 3_GiB, 3_GiB), "");
  EXPECT_EQ(memory_cause(wave, Category{0}, 3_GiB, 2_GiB), "as much at its own most, 4.00 GiB");
  wave.measured_most[0] = 5_GiB;
  EXPECT_EQ(memory_cause(wave, Category{0}, 3_GiB, 5_GiB),
            "at its own most 5.00 GiB, predicted 4.00 GiB");
}

// All a tenth slower: a backward of 4 ms is furthest from its prediction, the first of them.
TEST(RunCauses, TheFurthestIsTheFirstOfTheLongest) {
  const std::optional<RunDeviation> furthest = largest_deviation(done());
  ASSERT_TRUE(furthest);
  EXPECT_EQ(furthest->predicted, 4ms);
  EXPECT_EQ(furthest->difference(), 400us);
  EXPECT_EQ(deviation_words(*furthest), "Stage 0, B0: 4.40 ms, predicted 4.00 ms, +10.0 %");
}

TEST(RunCauses, WhatWasQuickIsFarToo) {
  RunModel model = done();
  const InstructionId quick = find(model.predicted->program, 1, kForward, 2);
  Span& span = model.spans[quick.value];
  span.end = span.start + 500us;
  const std::optional<RunDeviation> furthest = largest_deviation(model);
  ASSERT_TRUE(furthest);
  EXPECT_EQ(furthest->first, quick);
  EXPECT_EQ(furthest->device, DeviceId{1});
  EXPECT_DOUBLE_EQ(furthest->share(), -0.75);
}

TEST(RunCauses, WhatIsNotMeasuredIsNotFar) {
  RunModel model = half_way();
  for (Span& span : model.spans) span = kUnmeasured;
  EXPECT_FALSE(largest_deviation(model));
  EXPECT_FALSE(largest_deviation({}));
  model.spans = model.predicted->timeline.spans;
  EXPECT_FALSE(largest_deviation(model));  // as predicted
}

}  // namespace
}  // namespace trainyard

// Tests what the window makes of a run's live events.
#include "app/workspace/runs/live_reader.h"

#include <gtest/gtest.h>

#include "app/workspace/scenario/workspace.h"

namespace trainyard {
namespace {

using namespace std::chrono_literals;

RunModel predicted() {
  RunModel model;
  model.predicted = simulate(open({.model = "mlp-small",
                                   .cluster = "cpu:2",
                                   .plan = "",
                                   .settings = {"pp=2", "global-batch=4", "precision=fp32"}}),
                             {.grain = Grain::Op, .fixes = false});
  return model;
}

LiveSpan span(std::uint32_t id, int repetition, Duration start, Duration end) {
  return {.instruction = {id}, .repetition = repetition, .peer = 0, .span = {start, end}};
}

LiveMemory memory(std::uint32_t rank, Duration at, std::int64_t bytes) {
  LiveMemory m{.device = {rank}, .peer = 0, .at = at, .bytes = {}};
  m.bytes[static_cast<std::size_t>(Category::Weights)] = Bytes{bytes};
  return m;
}

TEST(LiveReader, SpansCountFromTheBeginningOfTheirStep) {
  RunModel model = predicted();
  LiveReader reader(model);
  EXPECT_EQ(model.spans[0], kUnmeasured);
  reader.take({span(1, 0, 3ms, 4ms), span(0, 0, 1ms, 3ms)}, {}, {});
  EXPECT_EQ(model.spans[0], (Span{0ms, 2ms}));
  EXPECT_EQ(model.spans[1], (Span{2ms, 3ms}));
  ASSERT_TRUE(model.now);
  EXPECT_EQ(model.now->at, Instant{3ms});
  // A step that is shown alone begins empty.
  reader.take({span(0, 1, 10ms, 13ms)}, {}, {});
  EXPECT_EQ(model.spans[0], (Span{0ms, 3ms}));
  EXPECT_EQ(model.spans[1], kUnmeasured);
  EXPECT_EQ(model.now->at, Instant{3ms});
  EXPECT_TRUE(model.now->alone);
}

TEST(LiveReader, RatiosAreThoseOfStepsThatHaveThem) {
  RunModel model = predicted();
  LiveReader reader(model);
  reader.take({}, {}, {{.step = 1, .loss = 2}});
  EXPECT_TRUE(model.orthogonality.empty());
  using Layers = std::vector<double>;
  reader.take({}, {},
              {{.step = 2,
                .loss = 1,
                .orthogonality = std::make_shared<const Layers>(Layers{0.5, 0, 0.25})}});
  EXPECT_EQ(model.orthogonality, (std::vector<Layers>{{0.5, 0, 0.25}}));
  EXPECT_TRUE(model.energy_sent.empty());
  reader.take(
      {}, {},
      {{.step = 3, .loss = 1, .energy_sent = std::make_shared<const Layers>(Layers{0.25, 0.75})}});
  EXPECT_EQ(model.energy_sent, (std::vector<Layers>{{0.25, 0.75}}));
}

// Fast steps overwrite one span after another; spans that have not been reached stay.
TEST(LiveReader, QuickStepsAreShownOverThoseBefore) {
  RunModel model = predicted();
  LiveReader reader(model);
  reader.show_alone(false);
  reader.take({span(0, 0, 1ms, 3ms), span(1, 0, 3ms, 6ms)}, {}, {});
  reader.take({span(0, 1, 10ms, 13ms)}, {}, {});
  EXPECT_EQ(model.spans[0], (Span{0ms, 3ms}));
  EXPECT_EQ(model.spans[1], (Span{2ms, 5ms}));
  EXPECT_EQ(model.now->at, Instant{3ms});
  EXPECT_FALSE(model.now->alone);
  // A late event belongs to a step that is over.
  reader.take({span(1, 0, 4ms, 90ms)}, {}, {});
  EXPECT_EQ(model.spans[1], (Span{2ms, 5ms}));
}

TEST(LiveReader, AWholeStepIsKept) {
  RunModel model = predicted();
  LiveReader reader(model);
  const auto step = [&](int repetition, Duration begin, std::uint32_t count) {
    std::vector<LiveSpan> spans;
    for (std::uint32_t i = 0; i < count; ++i)
      spans.push_back(span(i, repetition, begin + i * 1ms, begin + i * 1ms + 1ms));
    reader.take(spans, {}, {});
  };
  const auto all = static_cast<std::uint32_t>(model.spans.size());
  step(0, 5ms, all);
  EXPECT_TRUE(reader.whole().empty());
  step(1, 2000ms, all - 1);
  ASSERT_EQ(reader.whole().size(), model.spans.size());
  EXPECT_EQ(reader.whole()[1], (Span{1ms, 2ms}));
  // One span of the next step is missing, so the step before it stays the newest complete one.
  step(2, 4000ms, 1);
  EXPECT_EQ(reader.whole()[1], (Span{1ms, 2ms}));
}

TEST(LiveReader, AWaveRisesWithItsStep) {
  RunModel model = predicted();
  LiveReader reader(model);
  reader.take({span(0, 0, 1ms, 3ms)}, {memory(0, 1ms, 100), memory(0, 2ms, 300)}, {});
  ASSERT_EQ(model.now->waves[0].samples.size(), 2u);
  EXPECT_EQ(model.now->waves[0].samples[1].at, Instant{1ms});
  EXPECT_EQ(model.now->waves[0].peak, 1u);
  reader.take({}, {memory(0, 4ms, 200)}, {});
  EXPECT_EQ(model.now->waves[0].samples.size(), 3u);
  EXPECT_EQ(peak_of(model.now->waves[0]), Bytes{300});
  // The next step begins with what was held.
  reader.take({span(0, 1, 7ms, 9ms)}, {memory(0, 8ms, 250)}, {});
  ASSERT_EQ(model.now->waves[0].samples.size(), 2u);
  EXPECT_EQ(total(model.now->waves[0].samples[0].bytes), Bytes{200});
  EXPECT_EQ(peak_of(model.now->waves[0]), Bytes{250});
  EXPECT_EQ(peak_of(model.waves[0]), Bytes{300});
}

TEST(LiveReader, AWaveIsShownOnceItsStepIsOver) {
  RunModel model = predicted();
  LiveReader reader(model);
  reader.take({span(0, 0, 0ms, 3ms)},
              {memory(0, 0ms, 100), memory(0, 2ms, 300), memory(0, 5ms, 100)}, {});
  EXPECT_TRUE(model.waves[0].samples.empty());
  reader.take({span(0, 1, 7ms, 9ms)}, {memory(0, 8ms, 250)}, {});
  ASSERT_EQ(model.waves[0].samples.size(), 3u);
  EXPECT_EQ(model.waves[0].peak, 1u);
  EXPECT_EQ(model.waves[0].samples[1].at, Instant{2ms});
  EXPECT_TRUE(model.waves[1].samples.empty());
  // What was held before a step began holds at its start.
  reader.take({span(0, 2, 12ms, 13ms)}, {}, {});
  ASSERT_EQ(model.waves[0].samples.size(), 2u);
  EXPECT_EQ(total(model.waves[0].samples[0].bytes), Bytes{100});
  EXPECT_EQ(model.waves[0].samples[1].at, Instant{1ms});
}

TEST(LiveReader, OtherReplicasAreNotDrawn) {
  RunModel model = predicted();
  LiveReader reader(model);
  LiveSpan other = span(0, 0, 1ms, 2ms);
  other.peer = 1;
  reader.take({other}, {}, {});
  EXPECT_EQ(model.spans[0], kUnmeasured);
}

TEST(LiveReader, StepsGiveLossAndTime) {
  RunModel model = predicted();
  LiveReader reader(model);
  reader.take({}, {}, {{.step = 1, .loss = 2.5, .at = 4ms}, {.step = 2, .loss = 2.25, .at = 7ms}});
  EXPECT_EQ(model.losses, (std::vector<double>{2.5, 2.25}));
  EXPECT_EQ(model.step, 3ms);
}

// A single step that another program delayed does not change the shown time.
TEST(LiveReader, TheStepIsTheMedianOfTheNewest) {
  RunModel model = predicted();
  LiveReader reader(model);
  Instant at{};
  const auto steps = [&](int count, Duration each) {
    for (int i = 0; i < count; ++i) {
      at += each;
      reader.take({}, {}, {{.step = 1, .loss = 1, .at = at}});
    }
  };
  steps(2, 4ms);
  steps(1, 90ms);
  EXPECT_EQ(model.step, 4ms);
  steps(20, 7ms);
  EXPECT_EQ(model.step, 7ms);
}

}  // namespace
}  // namespace trainyard

// Tests batch ramps: their text, their phases, and what is refused.
#include "core/plan/batch_ramp.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>

namespace trainyard {
namespace {

using Sizes = std::vector<BatchRamp::Size>;
using Phases = std::vector<BatchPhase>;

Sizes sizes(std::string_view text, std::int64_t full) {
  return sizes_of(parse_batch_ramp(text), full);
}

TEST(BatchRamp, GrowsInEqualSpansUntilTheGlobalBatch) {
  EXPECT_EQ(sizes("16:16:3000", 64), (Sizes{{16, 0}, {32, 1000}, {48, 2000}, {64, 3000}}));
  EXPECT_EQ(sizes("16:24:3000", 64), (Sizes{{16, 0}, {40, 1500}, {64, 3000}}));
  // 16 * 3 / 3 and 16 * 2 / 3 samples are no whole ones: the next sample ends a span.
  EXPECT_EQ(sizes("1:1:16", 4), (Sizes{{1, 0}, {2, 6}, {3, 11}, {4, 16}}));
  EXPECT_EQ(sizes("64:16:3000", 64), (Sizes{{64, 0}}));
  EXPECT_EQ(sizes("steps:256@0,512@63000", 512), (Sizes{{256, 0}, {512, 63000}}));
}

// Megatron-LM: start + increment * (consumed / (samples / increments)), and the global batch from
// `samples` consumed samples on.
std::int64_t megatron_batch(const BatchRamp& ramp, std::int64_t full, std::int64_t consumed) {
  const std::int64_t increments = (full - ramp.start) / ramp.increment;
  if (increments == 0 || consumed >= ramp.samples) return full;
  return ramp.start + consumed * increments / ramp.samples * ramp.increment;
}

TEST(BatchRamp, EveryStepHasTheBatchThatMegatronGivesIt) {
  EXPECT_TRUE(rc::check([] {
    BatchRamp ramp;
    ramp.start = *rc::gen::inRange(1, 20), ramp.increment = *rc::gen::inRange(1, 20);
    const std::int64_t full = ramp.start + ramp.increment * *rc::gen::inRange(0, 12);
    ramp.samples = *rc::gen::inRange(1, 5000);
    const Phases phases = batch_phases(sizes_of(ramp, full));
    RC_ASSERT(!phases.empty());
    RC_ASSERT(phases.back().batch == full);
    std::int64_t consumed = 0, steps = 0;
    for (const BatchPhase& phase : phases) {
      RC_ASSERT(phase.first_sample == consumed);
      RC_ASSERT(phase.first_step == steps);
      RC_ASSERT((phase.steps == 0) == (&phase == &phases.back()));
      for (std::int64_t i = 0; i < std::max<std::int64_t>(3, phase.steps); ++i) {
        if (phase.steps > 0 && i == phase.steps) break;
        RC_ASSERT(megatron_batch(ramp, full, consumed) == phase.batch);
        if (phase.steps > 0) consumed += phase.batch, ++steps;
      }
    }
    RC_ASSERT(megatron_batch(ramp, full, consumed) == full);
  }));
}

TEST(BatchRamp, ASpanThatAStepPassesHasNoPhase) {
  EXPECT_EQ(batch_phases(sizes("steps:8@0,16@3,24@5,32@20", 32)),
            (Phases{{8, 0, 0, 1}, {24, 8, 1, 1}, {32, 32, 2, 0}}));
  EXPECT_EQ(batch_phases(sizes("steps:4@0,8@9", 8)), (Phases{{4, 0, 0, 3}, {8, 12, 3, 0}}));
}

TEST(BatchRamp, APlanWithoutOneHasOnePhase) {
  Plan plan;
  plan.batch.global = 32;
  EXPECT_EQ(batch_phases(plan), (Phases{{32, 0, 0, 0}}));
  choice(plan, kBatchRamp).params.set(std::string(kBatchRampSizes), std::string("16:16:160"));
  EXPECT_EQ(batch_phases(plan), (Phases{{16, 0, 0, 10}, {32, 160, 10, 0}}));
  EXPECT_EQ(with_batch(plan, 16).batch.global, 16);
  EXPECT_EQ(find_choice(with_batch(plan, 16), kBatchRamp), nullptr);
}

std::string refusal_of_ramp(std::string_view text) {
  try {
    parse_batch_ramp(text);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::InvalidInput);
    return error.what();
  }
  return "";
}

TEST(BatchRamp, SaysWhatIsWrong) {
  constexpr std::string_view kForms =
      "expected off, START:INCREMENT:SAMPLES as in 16:16:5000000, or steps:BATCH@SAMPLES,... as in "
      "steps:256@0,512@63000, found ";
  for (const char* text : {"", "16", "16:16", "16:16:5000:1", "linear"})
    EXPECT_EQ(refusal_of_ramp(text), std::string(kForms) + "\"" + text + "\"");
  EXPECT_EQ(refusal_of_ramp("0:16:5000"),
            "expected a first batch in samples from 1 to 10000000000, found \"0\"");
  EXPECT_EQ(refusal_of_ramp("16:x:5000"),
            "expected an increment of the batch in samples from 1 to 10000000000, found \"x\"");
  EXPECT_EQ(refusal_of_ramp("16:16:1e9"),
            "expected a number of consumed samples from 1 to 1000000000000000, found \"1e9\"");
  EXPECT_EQ(refusal_of_ramp("steps:256"),
            "expected a batch and the samples from which on it holds, as in 512@63000, found "
            "\"256\"");
  EXPECT_EQ(refusal_of_ramp("steps:256@10"),
            "expected a first batch from 0 samples on, as in 256@0, found \"256@10\"");
  for (const char* text : {"steps:256@0,256@10", "steps:256@0,128@10", "steps:256@0,512@0"})
    EXPECT_TRUE(
        refusal_of_ramp(text).starts_with("expected more than 256@0 in batch and samples "
                                          "behind it, found "))
        << text;
  EXPECT_TRUE(rc::check([](const std::string& text) { refusal_of_ramp(text); }));
}

}  // namespace
}  // namespace trainyard

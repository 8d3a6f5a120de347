#include <gtest/gtest.h>

#include <map>

#include "tests/support/layers.h"

#include "tests/support/non_empty.h"

namespace trainyard {
namespace {

using testing::check_of;
using testing::gpt;
using testing::scenario;

// The plan's choice "reduce" has no key of --set; plan files say it.
Program program(const char* reduce, Grain grain) {
  Scenario s = scenario(gpt(), 8, {"global-batch=32", "micro-batch=1"});
  choice(s.plan, "gradient-accumulation").params.set("reduce", std::string(reduce));
  LowerOptions options;
  options.grain = grain;
  return lower(s, options);
}

std::map<int, int> reductions_by_microbatch(const Program& p) {
  std::map<int, int> count;
  for (const Instruction& in : p.instructions)
    if (p.task(in).kind == TaskKind::Collective && p.task(in).group == Group::Data)
      count[in.microbatch] += p.task(in).repeats;
  return count;
}

// 6 bodies with parameters: embedding, 4 layers, head. Four microbatches.
TEST(GradientAccumulation, ReducesWithTheLastMicrobatchOfAStep) {
  for (Grain grain : {Grain::Order, Grain::Op})
    EXPECT_EQ(reductions_by_microbatch(program("last", grain)), (std::map<int, int>{{3, 6}}));
}

TEST(GradientAccumulation, OrWithEveryOne) {
  for (Grain grain : {Grain::Order, Grain::Op})
    EXPECT_EQ(reductions_by_microbatch(program("every", grain)),
              (std::map<int, int>{{0, 6}, {1, 6}, {2, 6}, {3, 6}}));
}

// A single buffer lives through the step, whatever the number of microbatches.
TEST(GradientAccumulation, KeepsOneGradientBuffer) {
  const Program p = program("last", Grain::Order);
  int buffers = 0;
  for (const Buffer& buffer : testing::non_empty(p.buffers))
    if (buffer.category == Category::Gradients) {
      ++buffers;
      EXPECT_TRUE(buffer.persistent);
      EXPECT_EQ(buffer.bytes.value, 4 * parameters(gpt()));
    }
  EXPECT_EQ(buffers, 1);
}

TEST(GradientAccumulation, GlobalBatchIsWholeMicrobatches) {
  const Diagnostics found =
      check_of("gradient-accumulation", scenario(gpt(), 8, {"global-batch=20", "micro-batch=2"}));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].message,
            "a global batch of 20 is not a whole number of microbatches: 2 samples on each of 8 "
            "data-parallel ranks make 16");
  EXPECT_EQ(found[0].place.text, "plan#/batch/global");
  EXPECT_EQ(found[0].fix, "global-batch=16");
  EXPECT_EQ(check_of("gradient-accumulation", scenario(gpt(), 8, {"global-batch=1"})).at(0).fix,
            "global-batch=8");
  EXPECT_TRUE(check_of("gradient-accumulation", scenario(gpt(), 8, {"global-batch=24"})).empty());
}

}  // namespace
}  // namespace trainyard

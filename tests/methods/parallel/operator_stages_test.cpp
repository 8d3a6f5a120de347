#include "core/methods/parallel/operator_stages.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "core/lowering/lower.h"
#include "core/methods/settings/settings.h"
#include "core/model/zoo/zoo.h"
#include "tests/support/layers.h"
#include "tests/support/random_stages.h"
#include "tests/support/refusal.h"

namespace trainyard {
namespace {

using testing::RandomStages;
using testing::Settings;

Scenario inception(const std::string& stages) {
  return testing::scenario(zoo_model("inception-tiny"), 1,
                           Settings{"precision=fp32", "operator-stages=" + stages}, "cpu");
}

TEST(OperatorStages, TextsAreReadAndWrittenAgain) {
  const std::vector<StagedOps> read =
      parse_operator_stages("0.forward:0-2,7;3,4|5;6/3.backward:1|0", {});
  const std::vector<StagedOps> wanted = {{0, false, {{{0, 1, 2, 7}}, {{3, 4}, {5}}, {{6}}}},
                                         {3, true, {{{1}, {0}}}}};
  EXPECT_EQ(read, wanted);
  EXPECT_EQ(to_text(read), "0.forward:0-2,7;3-4|5;6/3.backward:1|0");
}

RC_GTEST_PROP(OperatorStages, WhateverIsWrittenReadsTheSame, (std::uint64_t seed)) {
  const Workload w = prepare(inception("off"));
  const std::vector<StagedOps> stages = RandomStages(seed).of(w, 4);
  RC_ASSERT(parse_operator_stages(to_text(stages), {}) == stages);
}

TEST(OperatorStages, TextOfAnotherFormSaysWhereItIsWrong) {
  for (const auto& [text, expected] :
       std::map<std::string, std::string>{{"0.forward:0,0", "op 0 stands twice"},
                                          {"0.sideways:0", ".forward: or .backward:"},
                                          {"0.forward:3-1", "a range whose end"},
                                          {"0.forward:0;", "a whole number"},
                                          {"0.forward:0 1", "ranges of ops joined by"},
                                          {"0.forward:0/0.forward:1", "each forward and backward"},
                                          {"x", "a whole number"},
                                          {"0.forward:99999999999", "a whole number"}})
    EXPECT_NE(testing::refusal([&words = text] {
                parse_operator_stages(words, {"here"});
              }).find(expected),
              std::string::npos)
        << text;
}

// Each op once, none before or beside one that it waits for.
TEST(OperatorStages, ThatDependencesForbidAreRefused) {
  const auto refusal = [](const std::string& stages) {
    return testing::refusal([&] { prepare(inception(stages)); });
  };
  EXPECT_NE(refusal("1.forward:0|1").find("have to list each of their"), std::string::npos)
      << refusal("1.forward:0|1");
  const Workload w = prepare(inception("off"));
  const auto mixed = std::find_if(w.bodies.begin(), w.bodies.end(),
                                  [](const Body& body) { return body.block == 1; });
  ASSERT_NE(mixed, w.bodies.end());
  const auto last = static_cast<int>(mixed->forward.size()) - 1;
  const std::string rest = ";1-" + std::to_string(last - 1);
  EXPECT_NE(refusal("1.forward:" + std::to_string(last) + ";0" + rest).find("which waits for it"),
            std::string::npos);
  EXPECT_NE(refusal("1.forward:0|" + std::to_string(last) + rest).find("which waits for it"),
            std::string::npos);
  EXPECT_NE(
      refusal("1.forward:0" + rest + ";" + std::to_string(last) + "," + std::to_string(last + 1))
          .find("found op " + std::to_string(last + 1)),
      std::string::npos);
}

// Every op still runs once, in an order that dependences allow, and nothing else of the layer
// changes but how long tensors live.
RC_GTEST_PROP(OperatorStages, KeepEveryOpAndItsWork, (std::uint64_t seed)) {
  const Workload plain = prepare(inception("off"));
  const std::vector<StagedOps> stages = RandomStages(seed).of(plain, 3);
  const Workload staged = prepare(inception(to_text(stages)));
  RC_ASSERT(staged.bodies.size() == plain.bodies.size());
  for (std::size_t b = 0; b < plain.bodies.size(); ++b)
    for (const bool backward : {false, true}) {
      const std::vector<BodyOp>&was = backward ? plain.bodies[b].backward : plain.bodies[b].forward,
            &is = backward ? staged.bodies[b].backward : staged.bodies[b].forward;
      RC_ASSERT(was.size() == is.size());
      const auto works = [](const std::vector<BodyOp>& ops) {
        double flops = 0, bytes = 0;
        for (const BodyOp& op : ops)
          flops += op.work.flops.value,
              bytes += static_cast<double>(op.work.read.value + op.work.written.value);
        return std::pair(flops, bytes);
      };
      RC_ASSERT(works(was) == works(is));
      std::map<std::uint32_t, std::pair<std::size_t, std::size_t>> range;  // of each stage
      for (std::size_t i = 0; i < is.size(); ++i)
        if (const std::uint32_t stage = is[i].place.stage; stage != 0) {
          const auto at = range.try_emplace(stage, i, i).first;
          RC_ASSERT(at->second.second + 1 >= i);  // its ops stand together
          at->second.second = i;
        }
      // A tensor that lives in a stage lives in all of it.
      for (const Transient& t : staged.bodies[b].transients) {
        if (t.backward != backward) continue;
        for (const auto& [stage, ops] : range) {
          RC_ASSERT(t.from <= ops.first || t.from > ops.second);
          RC_ASSERT(t.to >= ops.second || t.to < ops.first);
        }
      }
    }
}

TEST(OperatorStages, NeedAsManyCoresAsTheirWidest) {
  Plan plan;
  EXPECT_EQ(cores_of_device(plan), 1);
  apply_setting(plan, "operator-stages=0.forward:0|1|2;3|4");
  EXPECT_EQ(cores_of_device(plan), 3);
  apply_setting(plan, "operator-stages=off");
  EXPECT_EQ(find_choice(plan, kOperatorStages), nullptr);
}

}  // namespace
}  // namespace trainyard

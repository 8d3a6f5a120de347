// The seventeen questions are typed as the help says, and each answer contains the figure that was
// asked for, computed here from the model or by another path.
#include "app/cli/text/plans/knob_questions.h"

#include <gtest/gtest.h>

#include "app/cli/verb.h"
#include "app/workspace/scenario/workspace.h"
#include "core/base/units_text.h"
#include "core/io/json/json.h"
#include "core/methods/settings/settings.h"
#include "tests/app/documents.h"
#include "tests/app/trainyard.h"
#include "tests/support/non_empty.h"

namespace trainyard {
namespace {

constexpr std::size_t kTuning = 14;

std::string answer(std::size_t question, const std::string& more = "") {
  const TemporaryFolder folder;
  const std::string line = command_of(questions()[question], kQuestionScenario) + more;
  const Ran ran = trainyard(line, folder);
  EXPECT_TRUE(ran.exit == kDone || ran.exit == kNotMet) << line << "\n" << ran.err;
  return ran.out;
}

Json document(std::size_t question) { return parse_json(answer(question, " --json"), "answer"); }

Result estimated(const std::vector<std::string>& more) {
  Request request{"llama-3-8b", "h100-sxm:64", "", {"zero=3", "global-batch=512", "seq=8192"}};
  request.settings.insert(request.settings.end(), more.begin(), more.end());
  return estimate(open(request));
}

Bytes reserved(const Result& r) { return r.capacity - r.verdict.margin; }

// Compares every legal value of a setting's strip with estimate() of the plan with that value.
int compared(const Json& knobs, const std::string& key) {
  int values = 0;
  for (const Json& strip : *knobs.find("strips")->as_list()) {
    if (*strip.find("knob")->text() != key) continue;
    for (const Json& v : *strip.find("values")->as_list()) {
      if (!*v.find("legal")->boolean() || number(*v.find("devices")) != 64) continue;
      const Result said = estimated({*v.find("set")->text()});
      EXPECT_EQ(number(*v.find("reserved_bytes")), static_cast<double>(reserved(said).value));
      EXPECT_NEAR(number(*v.find("step_seconds")), to_seconds(said.step.value), 1e-12);
      ++values;
    }
  }
  return values;
}

bool holds(const std::string& text, const std::string& words) {
  return text.find(words) != std::string::npos;
}

TEST(Questions, AreSeventeenAndTakeAtMostTwoCommands) {
  EXPECT_EQ(questions().size(), 17u);
  for (const Question& q : testing::non_empty(questions())) EXPECT_LE(q.interactions, 2) << q.words;
  const TemporaryFolder folder;
  const Ran ran = run_program(TRAINYARD_PROGRAM, {"knobs", "--questions"}, folder.path());
  for (const Question& q : testing::non_empty(questions())) {
    EXPECT_TRUE(holds(ran.out, std::string(q.words))) << q.words;
    EXPECT_TRUE(holds(ran.out, command_of(q, kQuestionScenario))) << q.words;
  }
}

TEST(Questions, TheyAreAskedOfWhatWasTyped) {
  const TemporaryFolder folder;
  const Ran ran = run_program(TRAINYARD_PROGRAM,
                              split_words("knobs --questions --model gpt2 --cluster a100-sxm-80:8"),
                              folder.path());
  EXPECT_TRUE(holds(ran.out, "knobs --model gpt2 --cluster a100-sxm-80:8 --largest seq"));
}

TEST(Questions, ExpectedPeak) {
  const Bytes said = reserved(estimated({}));
  EXPECT_TRUE(holds(answer(0), readable(said) + " of 79.6 GiB")) << readable(said);
  // The simulator lays out every buffer and gets the same result.
  const ExperimentPtr run =
      simulate(open({"llama-3-8b", "h100-sxm:64", "", {"zero=3", "global-batch=512", "seq=8192"}}),
               {.fixes = false});
  EXPECT_NEAR(said / reserved(run->result), 1, 0.01);
}

// 32 layers of 436224000 bytes: as one unit they are 13.0 GiB.
TEST(Questions, AnotherWrapping) {
  const Json all = document(1);
  const Json::List& list = *all.find("wrappings")->as_list();
  EXPECT_EQ(list.size(), 6u);
  EXPECT_EQ(number(*list.back().find("unit_bytes")), 32.0 * 218112000 * 2);
  EXPECT_NEAR(number(*list.front().find("step_seconds")), to_seconds(estimated({}).step.value),
              1e-12);
}

TEST(Questions, BestBatch) {
  const Json found = document(2);
  const std::string last = *found.find("last")->find("value")->text(),
                    next = *found.find("next")->find("value")->text();
  EXPECT_TRUE(estimated({"micro-batch=" + last}).verdict.fits);
  EXPECT_FALSE(estimated({"micro-batch=" + next}).verdict.fits);
}

TEST(Questions, LongestSequence) {
  const Json found = document(3);
  const std::string last = *found.find("last")->find("value")->text();
  EXPECT_TRUE(estimated({"seq=" + last}).verdict.fits);
  EXPECT_FALSE(estimated({"seq=" + std::to_string(std::stoll(last) + 128)}).verdict.fits);
}

TEST(Questions, WidthOfDataParallelism) {
  const Json found = document(4);
  EXPECT_GT(compared(found, "dp"), 4);
  const Json& devices = (*found.find("strips")->as_list())[0];
  ASSERT_EQ(*devices.find("knob")->text(), "devices");
  for (const Json& v : testing::non_empty(*devices.find("values")->as_list()))
    if (*v.find("value")->text() == "128") {
      const Result twice = estimate(
          open({"llama-3-8b", "h100-sxm:128", "", {"zero=3", "global-batch=512", "seq=8192"}}));
      EXPECT_EQ(number(*v.find("reserved_bytes")), static_cast<double>(reserved(twice).value));
    }
}

TEST(Questions, OptimizerOnTheHost) {
  EXPECT_GT(compared(document(5), "offload"), 0);
  EXPECT_LT(reserved(estimated({"offload=optimizer"})), reserved(estimated({})));
}

TEST(Questions, CheckpointingPolicy) {
  const Json found = document(6);
  EXPECT_GT(compared(found, "recompute"), 4);
}

// The waterfall's whole is the difference of two estimates, field by field.
TEST(Questions, PoliciesCompared) {
  const Json compared_plans = document(7);
  const Json& field = compared_plans.find("fields")->as_list()->front();
  EXPECT_EQ(*field.find("field")->text(), "recompute");
  const Result none = estimated({"recompute=none"}), full = estimated({"recompute=full"});
  EXPECT_NEAR(number(*field.find("seconds")),
              to_seconds(full.step.value) - to_seconds(none.step.value), 1e-9);
}

TEST(Questions, PoliciesByLayer) {
  const Json found = document(8);
  const Result eight = estimated({"recompute=blocks=8"});
  EXPECT_EQ(number(*found.find("reserved_bytes")), static_cast<double>(reserved(eight).value));
  const double less = static_cast<double>((reserved(estimated({})) - reserved(eight)).value);
  EXPECT_GT(less, 0);
}

TEST(Questions, GradientsInFullPrecision) { EXPECT_EQ(compared(document(9), "gradient-dtype"), 1); }

TEST(Questions, AnotherPrecision) { EXPECT_GT(compared(document(10), "precision"), 4); }

TEST(Questions, HybridSharding) { EXPECT_GT(compared(document(11), "hybrid"), 3); }

TEST(Questions, ReshardingToASmallerMesh) {
  const Json found = document(12);
  for (const Json& r : testing::non_empty(*found.find("reshardings")->as_list()))
    if (number(*r.find("ranks")) == 8) {
      EXPECT_EQ(number(*r.find("held_bytes")), 2.0 * 8030261248 / 8);
    }
}

// Both plans behave as the framework does.
TEST(Questions, LeavingReshardingOut) {
  EXPECT_EQ(compared(document(13), "reshard-after-forward"), 2);
}

// gate_proj, up_proj and what is between them keep 8192 x 14336 x 2 bytes in each of 32 layers.
TEST(Questions, ModuleThatOwnsMostActivations) {
  const Json found = document(kTuning);
  const Json& most = found.find("activations")->as_list()->front();
  EXPECT_EQ(number(*most.find("bytes")), 32.0 * 8192 * 14336 * 2);
  EXPECT_TRUE(holds(answer(kTuning), "layers gate_proj (matmul)"));
}

TEST(Questions, UnitThatIsNotSharded) {
  const Json found = document(kTuning + 1);
  bool layers = false;
  for (const Json& unit : testing::non_empty(*found.find("units")->as_list()))
    if (*unit.find("block")->text() == "layers") {
      layers = true;
      EXPECT_EQ(number(*unit.find("weights_bytes")), 2.0 * 218112000);
    }
  EXPECT_TRUE(layers);
}

TEST(Questions, WhyRecomputationFreesNothing) {
  EXPECT_EQ(reserved(estimated({"recompute=selective"})), reserved(estimated({})));
  EXPECT_TRUE(holds(answer(kTuning + 2), "fused attention never keeps them"));
}

}  // namespace
}  // namespace trainyard

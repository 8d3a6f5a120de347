// Every value of a strip is the estimate of the scenario that it says it is, on random plans.
#include "planners/sensitivity/sensitivity.h"

#include <gtest/gtest.h>
#include <tbb/global_control.h>

#include <set>

#include "core/base/error.h"
#include "core/base/random.h"
#include "core/methods/settings/settings.h"
#include "tests/planners/random_plans.h"
#include "tests/support/non_empty.h"

namespace trainyard {
namespace {

const KnobStrip& strip(const Sensitivity& all, std::string_view key) {
  for (const KnobStrip& s : all.strips)
    if (s.key == key) return s;
  throw Error(Error::Kind::Internal, "no such strip");
}

const KnobValue& value(const KnobStrip& s, std::string_view wanted) {
  for (const KnobValue& v : s.values)
    if (v.value == wanted) return v;
  throw Error(Error::Kind::Internal, "no such value");
}

Scenario large() {
  return open(
      {"llama-3-70b", "h100-sxm:1024", "", {"tp=8", "pp=4", "global-batch=1024", "seq=8192"}});
}

void expect_estimated(const Scenario& scenario, const KnobValue& v) {
  const Result said = estimate(scenario);
  const StageMemory& worst = said.memory[said.verdict.worst_device.value];
  EXPECT_EQ(v.figures.step, said.step.value) << v.words;
  EXPECT_EQ(v.figures.reserved, worst.reserved) << v.words;
  EXPECT_EQ(v.figures.peak, worst.peak.value) << v.words;
  EXPECT_EQ(v.figures.margin, said.verdict.margin) << v.words;
  EXPECT_EQ(v.figures.fits, said.verdict.fits) << v.words;
  EXPECT_EQ(v.figures.worst, said.verdict.worst_device) << v.words;
}

TEST(Sensitivity, EveryValueIsTheEstimateOfItsScenario) {
  int legal = 0, refused = 0, fixed = 0;
  std::set<std::string> knobs;
  for (std::uint64_t seed = 0; seed < testing::cases(40, 3); ++seed) {
    const Scenario scenario = testing::random_plan(seed);
    const Sensitivity all = sensitivity(scenario, testing::costs());
    // Batch and sequence stay, though both may follow from what is turned.
    Scenario base = scenario;
    base.plan.batch = all.scenario.plan.batch;
    for (const KnobStrip& s : testing::non_empty(all.strips))
      for (const KnobValue& v : testing::non_empty(s.values)) {
        ASSERT_NE(v.value, s.now) << s.key;
        Scenario other = with_devices(base, v.devices);
        if (!v.legal) {
          ++refused;
          EXPECT_FALSE(v.why_not.empty()) << s.key << "=" << v.value;
          EXPECT_THROW(
              {
                if (!v.words.empty()) apply_words(other.plan, v.words);
                prepare(other);
              },
              Error)
              << s.key << "=" << v.value << ": " << v.why_not;
          continue;
        }
        ++legal, fixed += !v.partners.empty();
        knobs.insert(s.key);
        if (!v.words.empty()) apply_words(other.plan, v.words);
        expect_estimated(other, v);
        const Plan complete_plan = complete(other);
        if (s.key == kDevicesKnob)
          EXPECT_EQ(std::to_string(other.cluster.count), v.value);
        else if (const std::string read = setting(complete_plan, s.key); !read.empty())
          EXPECT_EQ(read, v.value) << s.key;
        else  // the plan's own, which it need not say
          EXPECT_EQ(v.figures.step, all.now.step) << s.key;
        EXPECT_EQ(complete_plan.batch.global == base.plan.batch.global, s.key != "global-batch");
        EXPECT_EQ(complete_plan.batch.sequence == base.plan.batch.sequence, s.key != "seq");
      }
  }
  EXPECT_GT(legal, static_cast<int>(testing::cases(1000, 100)));
  EXPECT_GT(refused, static_cast<int>(testing::cases(50, 5)));
  EXPECT_GT(fixed, static_cast<int>(testing::cases(100, 10)));
  EXPECT_GT(knobs.size(), 18u);
}

// No setting is listed here: every setting with words or a number has a strip, but those of
// packing, which follow from lengths of documents and have one where a plan states them.
TEST(Sensitivity, EverySettingWithValuesHasAStrip) {
  const auto expect_strips = [](const Sensitivity& all, const Setting& s) {
    const KnobStrip& found = strip(all, s.key);
    const std::string now = setting(all.scenario.plan, s.key);
    for (const std::string_view word : testing::non_empty(s.values))
      if (word != now) {
        EXPECT_EQ(value(found, word).value, word) << s.key;
      }
  };
  const Sensitivity all = sensitivity(large(), testing::costs());
  Scenario packed = large();
  apply_setting(packed.plan, "lengths=lognormal:600,1.1");
  apply_setting(packed.plan, "packing=packed");
  Scenario open = packed;
  apply_setting(open.plan, "packing=longest");
  Scenario offloaded = large();
  apply_setting(offloaded.plan, "offload=both");
  for (const Setting& s : testing::non_empty(settings()))
    if (s.key == "packing")
      expect_strips(sensitivity(packed, testing::costs(), {.keys = {"packing"}}), s);
    else if (s.key == "packing-order")  // where each sample has the sequence, order moves nothing
      expect_strips(sensitivity(open, testing::costs(), {.keys = {"packing-order"}}), s);
    else if (s.key.starts_with("offload-") && !s.values.empty())  // else nothing that it moves
      expect_strips(sensitivity(offloaded, testing::costs(), {.keys = {std::string(s.key)}}), s);
    else if (!s.values.empty())
      expect_strips(all, s);
}

TEST(Sensitivity, ADegreeTakesAPartnerThatKeepsTheDevices) {
  const Sensitivity all = sensitivity(large(), testing::costs(), {.keys = {"tp", "dp"}});
  ASSERT_EQ(all.strips.size(), 2u);
  int partners = 0;
  for (const KnobStrip& s : testing::non_empty(all.strips))
    for (const KnobValue& v : testing::non_empty(s.values)) {
      if (!v.legal) continue;
      const Plan plan = complete(changed(all.scenario, v));
      EXPECT_EQ(plan.mesh.tp * plan.mesh.pp * plan.mesh.cp * *plan.mesh.dp, 1024) << v.words;
      EXPECT_NE(v.partners, "");
      ++partners;
    }
  EXPECT_GT(partners, 5);
  // The better partner is shown first, the others beside it.
  const KnobStrip& tp = strip(all, "tp");
  EXPECT_FALSE(value(tp, "16").alternative);
  EXPECT_TRUE(std::any_of(tp.values.begin(), tp.values.end(), [&](const KnobValue& v) {
    return v.value == "16" && v.alternative && v.change >= value(tp, "16").change;
  }));
}

TEST(Sensitivity, AChangeTakesTheFixOfItsDiagnosticAsPartner) {
  const Sensitivity all = sensitivity(large(), testing::costs(), {.keys = {"schedule"}});
  EXPECT_EQ(value(strip(all, "schedule"), "interleaved").words,
            "schedule=interleaved virtual-stages=2");
}

TEST(Sensitivity, SaysWhatIsNotTheSameTraining) {
  const Sensitivity all = sensitivity(large(), testing::costs());
  EXPECT_EQ(value(strip(all, "schedule"), "pipedream-2bw").maths, "gradients of older weights");
  EXPECT_EQ(value(strip(all, "schedule"), "gpipe").maths, "");
  EXPECT_EQ(value(strip(all, "precision"), "fp8").maths, "other rounding");
  EXPECT_EQ(value(strip(all, "first-moment-dtype"), "bf16").maths, "other rounding");
  EXPECT_EQ(value(strip(all, "reduce-dtype"), "bf16").maths, "other rounding");
  EXPECT_EQ(value(strip(all, "precision"), "fp32").maths, "finer rounding");
  EXPECT_EQ(value(strip(all, "optimizer"), "lamb").maths, "another update rule");
  EXPECT_EQ(value(strip(all, "reduce"), "sum").maths, "updates of replicas combined otherwise");
  EXPECT_EQ(value(strip(all, "compression"), "topk").maths, "other parts of gradients sent");
  EXPECT_EQ(value(strip(all, "sync"), "local-sgd").maths, "replicas that meet otherwise");
  EXPECT_EQ(value(strip(all, "global-batch"), "2048").maths, "another batch");
  EXPECT_EQ(value(strip(all, "seq"), "4096").maths, "other samples");
  EXPECT_EQ(value(strip(all, "zero"), "1").maths, "");
}

TEST(Sensitivity, SharedStatisticsOfBatchNormsAreNotTheSameTraining) {
  const Scenario images = open({"resnet-50", "h100-sxm:8", "", {"global-batch=64"}});
  const Sensitivity all = sensitivity(images, testing::costs(), {.keys = {"batch-norm"}});
  EXPECT_EQ(value(strip(all, "batch-norm"), "replicas").maths, "batch norms over other samples");
}

TEST(Sensitivity, WhatIsNotLegalNamesItsField) {
  const auto all = sensitivity(large(), testing::costs(), {.keys = {"ep"}});
  const KnobValue& ep = value(strip(all, "ep"), "2");
  EXPECT_FALSE(ep.legal);
  EXPECT_EQ(ep.field, "plan#/mesh/ep");
  EXPECT_EQ(ep.fix, "ep=1");
}

TEST(Sensitivity, IsTheSameOnOneThread) {
  const Sensitivity many = sensitivity(large(), testing::costs());
  const tbb::global_control one(tbb::global_control::max_allowed_parallelism, 1);
  const Sensitivity alone = sensitivity(large(), testing::costs());
  ASSERT_EQ(many.strips.size(), alone.strips.size());
  for (std::size_t i = 0; i < many.strips.size(); ++i) {
    ASSERT_EQ(many.strips[i].values.size(), alone.strips[i].values.size());
    for (std::size_t v = 0; v < many.strips[i].values.size(); ++v) {
      EXPECT_EQ(many.strips[i].values[v].words, alone.strips[i].values[v].words);
      EXPECT_EQ(many.strips[i].values[v].figures.step, alone.strips[i].values[v].figures.step);
    }
  }
}

TEST(Sensitivity, AnUnknownKnobIsAnswered) {
  try {
    sensitivity(large(), testing::costs(), {.keys = {"micro-bath"}});
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("\"micro-batch\""), std::string::npos) << e.what();
  }
}

}  // namespace
}  // namespace trainyard

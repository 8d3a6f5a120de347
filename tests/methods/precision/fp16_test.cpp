#include <gtest/gtest.h>

#include "tests/support/layers.h"

namespace trainyard {
namespace {

using testing::bytes_per_parameter;
using testing::check_of;
using testing::gpt;
using testing::scenario;

TEST(Fp16, HalvesEverythingAndKeepsAMasterCopy) {
  const Workload w = prepare(scenario(gpt(), 1, {"precision=fp16"}));
  const Precision& p = w.layout.precision;
  EXPECT_EQ(p.parameter, DType::F16);
  EXPECT_EQ(p.activation, DType::F16);
  EXPECT_EQ(p.gradient, DType::F16);
  EXPECT_EQ(p.math, DType::F16);
  EXPECT_TRUE(p.master_weights);
}

// 2 weights, 2 gradients, 4 master copy, and 4 a moment (Rajbhandari et al. 2020: 16 with Adam).
TEST(Fp16, BytesOfAParameterByOptimizer) {
  EXPECT_EQ(bytes_per_parameter({"precision=fp16", "optimizer=sgd"}), 8);
  EXPECT_EQ(bytes_per_parameter({"precision=fp16", "optimizer=momentum"}), 12);
  EXPECT_EQ(bytes_per_parameter({"precision=fp16", "optimizer=adam"}), 16);
  EXPECT_EQ(bytes_per_parameter({"precision=fp16", "gradient-dtype=fp32"}), 18);
}

// The update looks at every gradient once more: has one of them overflowed?
TEST(Fp16, ChecksGradientsForOverflowBeforeTheUpdate) {
  const Workload plain = prepare(scenario(gpt(), 1, {"precision=bf16", "gradient-dtype=bf16"})),
                 half = prepare(scenario(gpt(), 1, {"precision=fp16"}));
  EXPECT_EQ(half.layout.optimizer_touched_bytes, plain.layout.optimizer_touched_bytes + 2);
  const auto touched = [](const Workload& w) {
    const Work& work = testing::layer(w).update.at(0).work;
    return (work.read + work.written).value;
  };
  EXPECT_EQ(touched(half) - touched(plain), 2 * testing::layer(half).parameters.dense);
}

TEST(Fp16, ScaleIsAPowerOfTwo) {
  for (const char* legal : {"loss-scale=1", "loss-scale=1024", "loss-scale=4294967296"})
    EXPECT_TRUE(check_of("fp16", scenario(gpt(), 8, {"precision=fp16", legal})).empty()) << legal;
  const Diagnostics found =
      check_of("fp16", scenario(gpt(), 8, {"precision=fp16", "loss-scale=1000"}));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].message,
            "loss-scale must be a power of two so that scaling rounds nothing, found 1000");
  EXPECT_EQ(found[0].place.text, "plan#/precision/loss-scale");
  EXPECT_EQ(found[0].fix, "loss-scale=65536");
}

TEST(Fp16, AGivenScaleIsStaticAndDynamicIsTheDefault) {
  Plan plan;
  apply_setting(plan, "precision=fp16");
  EXPECT_EQ(setting(plan, "loss-scale"), "dynamic");
  apply_setting(plan, "loss-scale=512");
  EXPECT_FALSE(find_choice(plan, "fp16")->params.flag("dynamic"));
  EXPECT_EQ(find_choice(plan, "fp16")->params.integer("loss-scale"), 512);
  apply_setting(plan, "loss-scale=dynamic");
  EXPECT_TRUE(find_choice(plan, "fp16")->params.flag("dynamic"));
}

TEST(Fp16, NeedsADeviceWithItsPeak) {
  Scenario s = scenario(gpt(), 8, {"precision=fp16"});
  s.cluster.device.name = "abacus";
  s.cluster.device.peaks.clear();
  const Diagnostics found = check_of("fp16", s);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].message, "fp16 needs a device with a fp16 peak; abacus has none");
}

}  // namespace
}  // namespace trainyard

#include <gtest/gtest.h>

#include "tests/support/layers.h"

namespace trainyard {
namespace {

using testing::gpt;
using testing::layer;
using testing::scenario;

TEST(Tf32, StoresFourBytesAndMultipliesInTf32) {
  const Workload w = prepare(scenario(gpt(), 1, {"precision=tf32"}));
  const Precision& p = w.layout.precision;
  EXPECT_EQ(p.parameter, DType::F32);
  EXPECT_EQ(p.activation, DType::F32);
  EXPECT_EQ(p.gradient, DType::F32);
  EXPECT_EQ(p.math, DType::TF32);
  EXPECT_FALSE(p.master_weights);
  EXPECT_EQ(testing::bytes_per_parameter({"precision=tf32"}), 16);
}

TEST(Tf32, IsFp32InAllButTheMultiplication) {
  const Workload fp32 = prepare(scenario(gpt(), 1, {"precision=fp32"})),
                 tf32 = prepare(scenario(gpt(), 1, {"precision=tf32"}));
  EXPECT_EQ(saved_bytes(layer(tf32)), saved_bytes(layer(fp32)));
  ASSERT_EQ(layer(tf32).forward.size(), layer(fp32).forward.size());
  for (std::size_t i = 0; i < layer(tf32).forward.size(); ++i) {
    Work work = layer(tf32).forward[i].work;
    if (work.math == DType::TF32) work.math = DType::F32;
    EXPECT_EQ(work, layer(fp32).forward[i].work) << layer(tf32).forward[i].name;
  }
}

TEST(Tf32, NeedsADeviceWithItsPeak) {
  const Diagnostics found =
      testing::check_of("tf32", scenario(gpt(), 8, {"precision=tf32"}, "v100-sxm3-32"));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].severity, Diagnostic::Severity::Error);
  EXPECT_EQ(found[0].message, "tf32 needs a device with a tf32 peak; V100 32GB has fp32, fp16");
  EXPECT_EQ(found[0].fix, "precision=fp32");
  EXPECT_TRUE(testing::check_of("tf32", scenario(gpt(), 8, {"precision=tf32"})).empty());
}

}  // namespace
}  // namespace trainyard

#include <gtest/gtest.h>

#include "tests/support/layers.h"

namespace trainyard {
namespace {

using testing::bytes_per_parameter;

TEST(Fp32, StoresAndMultipliesFourBytesWithoutAMasterCopy) {
  const Workload w = prepare(testing::scenario(testing::gpt(), 1, {"precision=fp32"}));
  const Precision& p = w.layout.precision;
  EXPECT_EQ(p.parameter, DType::F32);
  EXPECT_EQ(p.activation, DType::F32);
  EXPECT_EQ(p.gradient, DType::F32);
  EXPECT_EQ(p.math, DType::F32);
  EXPECT_FALSE(p.master_weights);
}

// 4 weights, 4 gradients, and 4 a moment.
TEST(Fp32, BytesOfAParameterByOptimizer) {
  EXPECT_EQ(bytes_per_parameter({"precision=fp32", "optimizer=sgd"}), 8);
  EXPECT_EQ(bytes_per_parameter({"precision=fp32", "optimizer=momentum"}), 12);
  EXPECT_EQ(bytes_per_parameter({"precision=fp32", "optimizer=adagrad"}), 12);
  EXPECT_EQ(bytes_per_parameter({"precision=fp32", "optimizer=lion"}), 12);
  EXPECT_EQ(bytes_per_parameter({"precision=fp32", "optimizer=adam"}), 16);
  EXPECT_EQ(bytes_per_parameter({"precision=fp32", "optimizer=adamw"}), 16);
}

// Unfused attention and dropout: (34 sbh + 5 a s^2 b) of 2-byte training is (64 sbh + 9 a s^2 b) in
// 4 bytes, because dropout masks stay one byte; statistics are 4 bytes a row in both.
TEST(Fp32, DoublesTheActivationsButMasksAndStatistics) {
  const std::int64_t s = 512, b = 2, h = 1024, a = 16;
  const Workload w = prepare(testing::scenario(
      testing::gpt(), 1, {"precision=fp32", "micro-batch=2", "flash-attention=off"}));
  EXPECT_EQ(saved_bytes(testing::layer(w)).value,
            (2 * 32 + 2) * s * b * h + (2 * 4 + 1) * a * s * s * b + 2 * 8 * s * b);
}

TEST(Fp32, IsLegalEverywhere) { EXPECT_FALSE(fp32().check); }

}  // namespace
}  // namespace trainyard

#include "core/result/flops_definition.h"

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/model/zoo/zoo.h"
#include "core/validation/rows/row_parts.h"
#include "tests/support/non_empty.h"
#include "tests/validation/prepared_rows.h"

namespace trainyard {
namespace {

using testing::shipped;

// "mfu_pct=41.25;hfu_pct=55.0".
std::optional<double> stated(const std::string& also, const std::string& key) {
  const std::size_t at = also.find(key + "=");
  if (at == std::string::npos) return {};
  return std::stod(also.substr(at + key.size() + 1));
}

double tokens_per_second_per_device(const PreparedRow& r) {
  const Plan& plan = r.workload.scenario.plan;
  return static_cast<double>(plan.batch.global * plan.batch.sequence) /
         static_cast<double>(r.workload.scenario.cluster.count) / r.measured;
}

double rate(const PreparedRow& r, FlopsDefinition d) {
  return tokens_per_second_per_device(r) *
         flops_per_token(d, flops_facts(r.workload.scenario.model),
                         static_cast<double>(r.workload.scenario.plan.batch.sequence));
}

TEST(FlopsDefinition, CountsGpt3ByHand) {
  const FlopsFacts f = flops_facts(zoo_model("megatron-145.6b"));
  EXPECT_EQ(f.layers, 80);
  EXPECT_EQ(f.width, 12288);
  EXPECT_EQ(f.vocab, 51200);
  EXPECT_EQ(f.hidden, 12288);
  EXPECT_EQ(f.embedding, 0);  // the head reads it
  // 96 l h^2 (1 + s/6h + V/16lh) with what it leaves out: biases, norms and positions.
  const double h = 12288, l = 80, s = 2048, v = 51200;
  const double paper = 96 * l * h * h * (1 + s / (6 * h) + v / (16 * l * h));
  EXPECT_NEAR(flops_per_token(FlopsDefinition::HardwareFull, f, s) / paper, 1, 5e-4);
  const double model = 72 * l * h * h * (1 + s / (6 * h) + v / (12 * l * h));
  EXPECT_NEAR(flops_per_token(FlopsDefinition::ModelFullProducts, f, s) / model, 1, 5e-4);
}

TEST(FlopsDefinition, HeadsOfTheirOwnLeaveTheInputTableOut) {
  const FlopsFacts f = flops_facts(zoo_model("llama-3-8b"));
  EXPECT_EQ(f.embedding, 128256.0 * 4096);
  EXPECT_EQ(f.width, 4096);
  // The count that NVIDIA's rows of this model are in: 0.0515 TFLOP a token at 8192.
  EXPECT_NEAR(flops_per_token(FlopsDefinition::ModelCausal, f, 8192) / 1e12, 0.0515, 5e-5);
}

TEST(FlopsDefinition, FoundrysUtilizationsAreReproduced) {
  int checked = 0;
  for (const PreparedRow& r : testing::non_empty(shipped().rows)) {
    if (!r.row.id.starts_with("foundry")) continue;
    const auto mfu = stated(r.row.also, "mfu_pct");
    ASSERT_TRUE(mfu) << r.row.id;
    const double peak = r.row.gpu == "H100-SXM" ? 989.4e12 : 312e12;
    const double times = r.row.precision == "fp8" ? 2 : 1;
    const double share =
        utilization(FlopsDefinition::ModelFull, rate(r, FlopsDefinition::ModelFull), times * peak);
    EXPECT_NEAR(100 * share / *mfu, 1, 2e-3) << r.row.id;
    ++checked;
  }
  EXPECT_EQ(checked, 135);
}

TEST(FlopsDefinition, Sc21CountsHardware) {
  for (const PreparedRow& r : testing::non_empty(shipped().rows))
    if (r.row.id.starts_with("sc21")) {
      EXPECT_NEAR(rate(r, FlopsDefinition::HardwareFull) / (r.row.value * 1e12), 1, 4e-3)
          << r.row.id;
    }
}

TEST(FlopsDefinition, IsReadFromWhatSourcesSay) {
  using D = FlopsDefinition;
  EXPECT_EQ(read_flops_definition("model-causal"), D::ModelCausal);
  EXPECT_EQ(read_flops_definition("MFU=(6N+12*L*d*s)*tok/s/peak"), D::ModelFull);
  EXPECT_EQ(read_flops_definition("8*N*tokens/(t*n): no attention term"), D::HardwareParameters);
  EXPECT_EQ(read_flops_definition("n/a"), std::nullopt);
  EXPECT_EQ(flops_definition_named("hardware-full"), D::HardwareFull);
  EXPECT_THROW(flops_definition_named("hardware"), Error);
}

TEST(FlopsDefinition, NothingIsFasterThanItsPeak) {
  EXPECT_EQ(utilization(FlopsDefinition::ModelFull, 156e12, 312e12), 0.5);
  EXPECT_THROW(utilization(FlopsDefinition::ModelFull, 313e12, 312e12), Error);
}

}  // namespace
}  // namespace trainyard

// Tests what updates are priced at where their arithmetic takes longer than their bytes.
#include "core/methods/precision/update_arithmetic.h"

#include <gtest/gtest.h>

#include <string>

#include "core/cost/local_core.h"
#include "tests/support/layers.h"
#include "tests/support/non_empty.h"
#include "tests/support/tiny_models.h"

namespace trainyard {
namespace {

using testing::Settings;

Workload of(const Settings& settings) {
  Settings all = {"precision=fp32", "global-batch=8"};
  all.insert(all.end(), settings.begin(), settings.end());
  return prepare(testing::scenario(testing::tiny_mlp(3), 1, all, "cpu"));
}

// Operations of a parameter's update, but for the products of whole matrices.
double operations(const Workload& w) {
  double flops = 0, parameters = 0;
  for (const Body& body : testing::non_empty(w.bodies)) {
    for (const BodyOp& op : body.update)
      if (op.work.kind == WorkKind::Optimizer) flops += op.work.flops.value;
    parameters += static_cast<double>(body.parameters.dense);
  }
  return flops / parameters;
}

TEST(UpdateArithmetic, IsThatOfTheFormulas) {
  for (const char* plain :
       {"optimizer=sgd", "optimizer=momentum", "optimizer=adam", "optimizer=adamw",
        "optimizer=lion", "optimizer=adagrad", "optimizer=muon"})
    EXPECT_EQ(operations(of({plain})), 0) << plain;
  EXPECT_EQ(operations(of({"optimizer=adamw-8bit"})), 2 * (2 + 4 + 19));
  EXPECT_EQ(operations(of({"optimizer=adafactor"})), 1 + 5 + 11 + 3 + 3);
  EXPECT_EQ(operations(of({"optimizer=halp"})), 8 + 7 + 13 + 10 + 8 + 4);
}

// Replicas that divide the state each make their share of it.
TEST(UpdateArithmetic, IsDividedAsTheStateIs) {
  const auto flops = [](const char* zero) {
    const Workload w = prepare(testing::scenario(
        testing::gpt(), 4, {"precision=fp32", "dp=4", "optimizer=adamw-8bit", zero}));
    double sum = 0;
    for (const Body& body : testing::non_empty(w.bodies))
      for (const BodyOp& op : body.update) sum += op.work.flops.value;
    return sum;
  };
  EXPECT_GT(flops("zero=1"), 0);
  EXPECT_NEAR(flops("zero=1") / flops("zero=0"), 0.25, 1e-3);
}

// A core takes 9 times as long for adamw-8bit as for adamw, as measured, where bytes alone would
// make it the faster one.
TEST(UpdateArithmetic, ACoreTakesLongerForItThanForBytes) {
  const Device& core = device("cpu");
  const auto each = [&](const char* rule) {
    const Workload w = of({rule});
    double seconds = 0, parameters = 0;
    for (const Body& body : testing::non_empty(w.bodies)) {
      for (const BodyOp& op : body.update) {
        const CoreTime time = local_core_time(op.work, core);
        seconds += time.arithmetic + time.traffic;
      }
      parameters += static_cast<double>(body.parameters.dense);
    }
    return 1e9 * seconds / parameters;
  };
  const double adamw = each("optimizer=adamw");
  EXPECT_GT(each("optimizer=adamw-8bit"), 3 * adamw);
  EXPECT_LT(each("optimizer=adamw-8bit"), 12 * adamw);
  EXPECT_NEAR(each("optimizer=adamw-8bit"), 7.2, 1.5);
  EXPECT_NEAR(each("optimizer=adafactor"), 9, 1.8);
}

// The 4-byte units of accelerators make fifty operations in less time than memory moves the
// fourteen bytes of adamw-8bit, or (a TPU v4) in as much, so that its price is left to its bytes.
TEST(UpdateArithmetic, BytesTakeLongerOnAccelerators) {
  int accelerators = 0;
  for (const Device& d : testing::non_empty(devices())) {
    if (d.id.starts_with("cpu") || !supports(d, DType::F32)) continue;
    ++accelerators;
    EXPECT_LT(50 / peak(d, DType::F32).value, 1.03 * 14 / tensor_bandwidth(d).value) << d.id;
  }
  EXPECT_GT(accelerators, 10);
}

}  // namespace
}  // namespace trainyard

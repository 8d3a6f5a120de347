// Bar B-MEM-01 on what the levers of memory cost in quality: weights in 16 bits, small microbatches
// and recomputation together answer within a point of a percent as fp32 without them does.
#include <gtest/gtest.h>

#include "backends/cpu/execution/evaluation.h"
#include "core/model/zoo/builders.h"
#include "core/training/data/data_sources.h"
#include "tests/support/cpu_training.h"

namespace trainyard {
namespace {

testing::CpuRun trained_on_images(const testing::Settings& levers, const DataSource& source) {
  Training training;
  training.rate = 0.05, training.momentum = 0.9, training.steps = 300;
  training.schedule = RateSchedule::Cosine;
  training.loss_scale = 1024;  // fp16 finds it without the updates that the usual start would skip
  testing::Settings plan = {"global-batch=64", "optimizer=momentum"};
  plan.insert(plan.end(), levers.begin(), levers.end());
  CpuOptions options;
  options.record_timeline = false;
  return testing::train_on_cpu(build_mlp({"small", 784, 64, 4, 10}), 1, plan, training, options,
                               source);
}

double accuracy(const testing::CpuRun& run, const DataSource& source) {
  return answers(run.workload, run.parameters, source, 0).accuracy();
}

TEST(MemoryLevers, TogetherLoseAtMostAPointOfAccuracy) {
  if (!data_entry("fashion-mnist").absent().empty()) GTEST_SKIP() << "no data";
  const auto source = open_data("fashion-mnist", data_seeds({}), {});
  const double plain =
      accuracy(trained_on_images({"precision=fp32", "micro-batch=64"}, *source), *source);
  RecordProperty("fp32", std::to_string(plain));
  EXPECT_GT(plain, 0.8);
  for (const char* precision : {"precision=bf16", "precision=fp16"}) {
    const double with = accuracy(
        trained_on_images({precision, "micro-batch=16", "recompute=full"}, *source), *source);
    RecordProperty(precision + 10, std::to_string(with));
    EXPECT_GE(with, plain - 0.01) << precision;
  }
}

}  // namespace
}  // namespace trainyard

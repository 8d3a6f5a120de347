// A step is set up once: its kernels' primitives, of an operation, shapes and formats, are created
// when a thread first comes to them, and found again in every later step.
#include <gtest/gtest.h>

#include <thread>

#include "core/model/zoo/zoo.h"
#include "tests/support/cpu_training.h"

namespace trainyard {
namespace {

using testing::Settings;

PreparedKernels prepared_in(std::string_view model, std::int64_t devices, std::int64_t steps,
                            const Settings& settings, RunMode mode = RunMode::VirtualTime) {
  Training training;
  training.steps = steps;
  training.rate = 0.01;
  CpuOptions options;
  options.mode = mode;
  return testing::train_on_cpu(zoo_model(model), devices, settings, training, options)
      .run.prepared.value();
}

// In virtual time one thread runs all kernels, and keeps what it has created for later runs.
TEST(PreparedKernels, OneDeviceCreatesNothingAfterItsFirstStep) {
  std::thread([] {
    for (const char* model : {"mlp-small", "gpt-tiny", "resnet-20"}) {
      SCOPED_TRACE(model);
      const Settings settings = {"micro-batch=1", "global-batch=1"};
      const PreparedKernels once = prepared_in(model, 1, 1, settings);
      EXPECT_GT(once.created, 0);
      const PreparedKernels again = prepared_in(model, 1, 7, settings);
      EXPECT_EQ(again.asked, 7 * once.asked);
      EXPECT_EQ(again.created, 0);
    }
  }).join();
}

// A thread that first takes part in a later step creates its own then.
TEST(PreparedKernels, StepsOfSeveralDevicesFindNinetyNineInAHundredAgain) {
  for (const Settings& settings :
       {Settings{"dp=2", "global-batch=2"}, Settings{"dp=2", "zero=3", "global-batch=2"},
        Settings{"pp=2", "split=4,5", "schedule=1f1b", "global-batch=2"}}) {
    SCOPED_TRACE(::testing::PrintToString(settings));
    const PreparedKernels found =
        prepared_in(settings.front() == "pp=2" ? "resnet-20" : "gpt-tiny", 2, 60, settings);
    EXPECT_GT(found.asked, 0);
    EXPECT_LE(found.created_late, found.asked / 100);
  }
}

// Widths that were not met before are other shapes.
TEST(PreparedKernels, OpenWidthsAreFoundAgainOnceTheyHaveBeenMet) {
  const PreparedKernels found =
      prepared_in("gpt-tiny", 1, 40,
                  {"packing=longest", "widths=64,128", "lengths=uniform:16-128", "micro-batch=1",
                   "global-batch=1"});
  EXPECT_GT(found.asked, 0);
  EXPECT_LE(found.created_late, found.asked / 100);
}

// An asynchronous program has all steps in one run of it, which are told apart all the same.
TEST(PreparedKernels, AWidthThatComesLateIsCountedLate) {
  for (const char* schedule : {"schedule=1f1b", "schedule=pipedream"})
    std::thread([schedule] {  // has kept nothing yet
      SCOPED_TRACE(schedule);
      const PreparedKernels found =
          prepared_in("neox-tiny", 2, 12,
                      {"pp=2", schedule, "packing=longest", "widths=any", "lengths=uniform:16-64",
                       "micro-batch=1", "global-batch=2"});
      EXPECT_GT(found.created_late, 0);
      EXPECT_LT(found.created_late, found.created);
    })
        .join();
}

}  // namespace
}  // namespace trainyard

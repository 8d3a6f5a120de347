// State that ranks divide under schedules that update while they train, and weights that stay
// gathered: what is learnt is what whole state learns, and a run that is resumed goes on with it.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "core/timeline/metrics.h"
#include "tests/support/cpu_training.h"
#include "tests/support/non_empty.h"
#include "tests/support/tiny_models.h"

namespace trainyard {
namespace {

using testing::CpuRun;
using testing::Settings;
using testing::tiny_transformer;

Training divided_training(std::int64_t steps) {
  Training t;
  t.rate = 0.1;
  t.momentum = 0.5;
  t.steps = steps;
  t.epsilon = 0.01;
  return t;
}

// On four devices, of which the words say how many are stages.
CpuRun divided(const Settings& words, CpuOptions options = {}) {
  Settings all = {"global-batch=8", "micro-batch=1"};
  all.insert(all.end(), words.begin(), words.end());
  return testing::train_on_cpu(tiny_transformer({.layers = 4}), 4, all, divided_training(4),
                               std::move(options));
}

TEST(DividedState, AsynchronousSchedulesLearnWhatTheyLearnWithWholeState) {
  const Settings schedules[] = {
      {"pp=2", "schedule=pipedream", "optimizer=adamw"},
      {"pp=2", "schedule=pipedream", "pipedream.sync=vertical", "optimizer=momentum"},
      {"pp=2", "schedule=pipedream-2bw", "optimizer=adamw"},
      {"pp=2", "schedule=pipelined-backprop", "pipelined-backprop.predict=none",
       "pipelined-backprop.stash=on", "optimizer=momentum"},
  };
  for (const Settings& schedule : testing::non_empty(schedules)) {
    const CpuRun whole = divided(schedule);
    for (const Settings& zero :
         {Settings{"zero=1"}, Settings{"zero=1", "overlap=off"}, Settings{"zero=2"},
          Settings{"zero=3"}, Settings{"zero=3", "overlap=off", "recompute=full"}}) {
      Settings words = schedule;
      words.insert(words.end(), zero.begin(), zero.end());
      std::string name;
      for (std::string_view word : words) name += " " + std::string(word);
      SCOPED_TRACE(name);
      // Every kernel takes as long, so that what waits for the other replica does so in each run.
      CpuOptions alike;
      alike.processor_time = [now = Duration{}]() mutable { return now += Duration{1000}; };
      const CpuRun run = divided(words, alike);
      ASSERT_EQ(run.run.losses.size(), whole.run.losses.size());
      for (std::size_t i = 0; i < whole.run.losses.size(); ++i)
        EXPECT_NEAR(run.run.losses[i], whole.run.losses[i], 1e-6 * whole.run.losses[i]) << i;
      // A gather that waits for the other replica has its buffers from when it is begun.
      const bool waits = words.back() == "recompute=full";
      for (std::uint32_t d = 0; d < 2 && !waits; ++d) {
        const auto peak = [](const MemoryWave& wave) {
          return static_cast<double>(total(wave.samples[wave.peak].bytes).value);
        };
        const double foretold = peak(memory_wave(run.run.timeline, run.program, DeviceId{d}));
        EXPECT_NEAR(peak(run.run.waves[d]), foretold,
                    std::max(0.02 * foretold, testing::largest_message(run.program)))
            << "device " << d;
      }
      CpuOptions wall;
      wall.mode = RunMode::WallClock;
      EXPECT_EQ(divided(words, wall).run.losses, run.run.losses);
    }
  }
}

// One stage has one table for embedding and head: the ranks gather it for each of them, and each
// adds its gradient to what the ranks hold of it.
TEST(DividedState, ATableThatTwoLayersReadIsGatheredForBoth) {
  const Training training = divided_training(3);
  const auto trained = [&](const Model& model, std::int64_t devices, const Settings& words) {
    Settings all = {"global-batch=8", "micro-batch=1", "optimizer=adamw"};
    all.insert(all.end(), words.begin(), words.end());
    return testing::train_on_cpu(model, devices, all, training);
  };
  for (const Model& model :
       {tiny_transformer({.layers = 2, .tied = true}), testing::tiny_encoder_decoder("t5", 2)}) {
    const CpuRun alone = trained(model, 1, {});
    for (const auto& [devices, words] : {std::pair<std::int64_t, Settings>{2, {"dp=2", "zero=2"}},
                                         {2, {"dp=2", "zero=2", "overlap=off"}},
                                         {2, {"dp=2", "zero=3"}},
                                         {2, {"dp=2", "zero=3", "zero-reduce=step"}},
                                         {2, {"dp=2", "zero=3", "recompute=full"}},
                                         {2, {"dp=2", "zero=3", "reshard-after-forward=off"}},
                                         {4, {"dp=4", "zero=3", "hybrid=2"}},
                                         {4, {"dp=2", "zero=3", "tp=2", "sequence-parallel=off"}},
                                         {2, {"dp=2", "zero=2", "offload=optimizer"}}}) {
      SCOPED_TRACE(model.name + " " + std::string(words[1]) + " " + std::string(words.back()));
      const CpuRun run = trained(model, devices, words);
      for (std::size_t i = 0; i < alone.run.losses.size(); ++i)
        EXPECT_NEAR(run.run.losses[i], alone.run.losses[i], 1e-5 * alone.run.losses[i]) << i;
    }
  }
}

TEST(DividedState, IsRefusedWhereWeightsAreReadBeforeTheyAreGathered) {
  struct Case {
    Settings words;
    const char* sentence;
  };
  const Case cases[] = {
      {{"pp=2", "schedule=pipemare", "zero=1"},
       "zero gathers weights before the next forward, and backwards of pipemare read them before"},
      {{"pp=1", "schedule=tick-tock", "tick-tock.waves=2", "tick-tock.sync=async", "zero=1"},
       "zero gathers weights in the lane that updates them, and lanes of tick-tock that share a "
       "device read them before"},
      {{"pp=2", "schedule=pipelined-backprop", "pipelined-backprop.stash=on", "zero=2"},
       "pipelined-backprop predicts weights from optimizer state, of which zero leaves each rank a "
       "part"},
      {{"pp=2", "schedule=pipedream", "optimizer=lamb", "zero=1"},
       "lamb needs norms over all that divide an update, between two updates of a stage"},
      {{"pp=2", "schedule=pipedream", "zero=3", "reshard-after-forward=off"},
       "reshard-after-forward=off keeps one version of the gathered weights, and backwards of an "
       "asynchronous schedule read older ones"},
  };
  for (const Case& c : testing::non_empty(cases)) {
    SCOPED_TRACE(c.sentence);
    try {
      divided(c.words);
      ADD_FAILURE() << "it was not refused";
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(c.sentence), std::string::npos) << error.what();
    }
  }
}

// A checkpoint has each rank's part; what stays gathered is gathered again.
TEST(DividedState, WeightsThatStayGatheredAreSoAfterResuming) {
  const std::string file =
      (std::filesystem::temp_directory_path() / ("gathered-" + std::to_string(::getpid())))
          .string();
  const Model model = tiny_transformer();
  for (const Settings& words : {Settings{"zero=3", "reshard-after-forward=off"},
                                Settings{"zero=3", "reshard-after-forward=off", "pp=2"}}) {
    const std::int64_t devices = words.size() == 3 ? 4 : 2;
    const auto train = [&](std::int64_t steps, CpuOptions options) {
      Settings all = {"global-batch=8", "micro-batch=1", "optimizer=adamw"};
      all.insert(all.end(), words.begin(), words.end());
      return testing::train_on_cpu(model, devices, all, divided_training(steps), options)
          .run.losses;
    };
    CpuOptions kept;
    kept.checkpoint = file;
    const std::vector<double> whole = train(4, {});
    train(2, kept);
    kept.resume = true;
    EXPECT_EQ(train(4, kept), whole);
    std::filesystem::remove(file);
  }
}

}  // namespace
}  // namespace trainyard

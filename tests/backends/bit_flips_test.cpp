// Tests flipped bits of a run: B-REL-04. Every plan flips the same bits of the same tensors, checks
// find them, and a run that goes back ends where one without them does.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "core/training/checkpoint.h"
#include "tests/support/cpu_training.h"
#include "tests/support/tiny_models.h"

namespace trainyard {
namespace {

using testing::CpuRun;
using testing::Settings;
using testing::tiny_mlp;
using testing::train_on_cpu;
using testing::with;

const Settings kFlippedAlone = {"global-batch=8", "micro-batch=2", "optimizer=momentum"};

Training flipped_training(std::initializer_list<const char*> words, std::uint64_t seed = 1) {
  Training training;
  training.rate = 0.05, training.momentum = 0.5, training.steps = 12;
  training.seeds[static_cast<std::size_t>(RandomSource::Rounding)] = seed;
  for (const char* word : words) apply_training(training, word);
  return training;
}

bool same_counts(const FlipReport& a, const FlipReport& b) {
  for (std::size_t i = 0; i < kFlipClasses; ++i)
    if (a.classes[i].injected != b.classes[i].injected ||
        a.classes[i].corrected != b.classes[i].corrected ||
        a.classes[i].detected != b.classes[i].detected)
      return false;
  return a.alarmed_steps == b.alarmed_steps && a.restores == b.restores &&
         a.steps_repeated == b.steps_repeated;
}

double last_loss(const CpuRun& run) { return run.run.losses.back(); }

// Units that have died give a small loss again, so that the last one says less.
double worst_loss(const CpuRun& run) {
  double worst = 0;
  for (const double loss : run.run.losses)
    worst = std::isfinite(loss) ? std::max(worst, loss) : INFINITY;
  return worst;
}

// Bits that change a number little, so that plans which round differently stay close.
TEST(FlippedBits, EveryPlanFlipsTheSameOnesAndTrainsAlike) {
  const Training training =
      flipped_training({"flip-bits=weights:0.002,optimizer:0.002,"
                        "activations:0.002",
                        "flip-part=mantissa", "steps=5"});
  Training low = training;
  low.flips.part = FlipPart::LastMantissa;
  low.flips.rates = {0.05, 0.05, 0.05, 0, 0};
  const CpuRun one = train_on_cpu(tiny_mlp(4), 1, kFlippedAlone, low);
  EXPECT_GT(one.run.flips->all().injected, 20);
  struct Case {
    std::int64_t devices;
    Settings plan;
  };
  const std::vector<Case> cases = {
      {2, {"dp=2"}},
      {2, {"pp=2", "schedule=1f1b"}},
      {2, {"dp=2", "zero=1"}},
      {4, {"dp=4", "zero=3"}},
      {4, {"dp=2", "pp=2", "zero=1", "schedule=gpipe"}},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.plan.front());
    const CpuRun many = train_on_cpu(tiny_mlp(4), c.devices, with(kFlippedAlone, c.plan), low);
    EXPECT_TRUE(same_counts(*many.run.flips, *one.run.flips));
    testing::expect_same_training(many, one, 3e-5);
  }
  // All plans know the same bits of the first update, and so many of them too.
  const CpuRun first = train_on_cpu(tiny_mlp(4), 1, kFlippedAlone, training),
               other =
                   train_on_cpu(tiny_mlp(4), 4, with(kFlippedAlone, {"dp=4", "zero=3"}), training);
  EXPECT_TRUE(same_counts(*first.run.flips, *other.run.flips));
  EXPECT_NEAR(first.run.losses[0], other.run.losses[0], 1e-5 * first.run.losses[0]);
}

TEST(FlippedBits, OfTensorParallelWeightsAreTheSame) {
  const Training training =
      flipped_training({"flip-bits=weights:0.01,optimizer:0.01", "flip-part=last-mantissa",
                        "steps=3", "flip-check=checksums"});
  const Settings tokens = with(kFlippedAlone, {"seq=4"});
  const Model model = testing::tiny_transformer();
  const CpuRun one = train_on_cpu(model, 1, tokens, training),
               many = train_on_cpu(model, 2, with(tokens, {"tp=2"}), training);
  EXPECT_TRUE(same_counts(*many.run.flips, *one.run.flips));
  EXPECT_EQ(one.run.flips->all().missed(), 0);
  testing::expect_same_training(many, one, 3e-5);
}

// Each rank of a replica has bits of its own that flip in what it makes; the sums find all of them,
// and a run that goes back is one without them.
TEST(FlippedBits, OfWhatRanksDivideAreFoundOnEachOfThem) {
  const Settings tokens = with(kFlippedAlone, {"seq=4"});
  const Model model = testing::tiny_transformer();
  for (const Settings& plan :
       {Settings{"tp=2"}, Settings{"tp=2", "sequence-parallel=on"}, Settings{"cp=2"}}) {
    SCOPED_TRACE(plan.back());
    const CpuRun clean = train_on_cpu(model, 2, with(tokens, plan), flipped_training({"steps=6"})),
                 run = train_on_cpu(
                     model, 2, with(tokens, plan),
                     flipped_training({"flip-bits=activations:2e-6,messages:2e-6",
                                       "flip-check=checksums,ranges", "recover=1", "steps=6"}));
    const FlipReport& flips = *run.run.flips;
    EXPECT_GT(flips.all().injected, 0);
    EXPECT_EQ(flips.all().missed(), 0);
    EXPECT_EQ(flips.false_alarms, 0);
    EXPECT_GT(flips.restores, 0);
    EXPECT_EQ(run.run.losses, clean.run.losses);
    EXPECT_EQ(testing::apart(run.parameters, clean.parameters), 0);
  }
}

TEST(FlippedBits, OfMessagesAreTheSameWhereverTheGradientsLie) {
  const Training training = flipped_training(
      {"flip-bits=messages:0.1", "flip-part=last-mantissa", "steps=4", "flip-check=checksums"});
  const CpuRun plain = train_on_cpu(tiny_mlp(4), 2, with(kFlippedAlone, {"dp=2"}), training);
  EXPECT_GT(plain.run.flips->all().injected, 20);
  EXPECT_EQ(plain.run.flips->all().missed(), 0);
  for (const char* zero : {"zero=1", "zero=2", "zero=3"}) {
    const CpuRun divided =
        train_on_cpu(tiny_mlp(4), 2, with(kFlippedAlone, {"dp=2", zero}), training);
    EXPECT_TRUE(same_counts(*divided.run.flips, *plain.run.flips)) << zero;
    testing::expect_same_training(divided, plain, 3e-5);
  }
  // The messages of a pipeline are those of its boundary and its microbatches.
  const CpuRun gpipe = train_on_cpu(tiny_mlp(4), 2, with(kFlippedAlone, {"pp=2", "schedule=gpipe"}),
                                    training),
               other = train_on_cpu(tiny_mlp(4), 2, with(kFlippedAlone, {"pp=2", "schedule=1f1b"}),
                                    training);
  EXPECT_GT(gpipe.run.flips->all().injected, 0);
  EXPECT_TRUE(same_counts(*gpipe.run.flips, *other.run.flips));
  testing::expect_same_training(other, gpipe, 3e-5);
}

TEST(FlippedBits, AResumedRunFlipsTheSameOnes) {
  const std::string path = ::testing::TempDir() + "bit_flips.checkpoint";
  const Training whole = flipped_training(
      {"flip-bits=weights:0.01,activations:0.01", "flip-part=mantissa", "steps=6"});
  Training half = whole;
  half.steps = 3;
  const Settings plan = with(kFlippedAlone, {"dp=2"});
  const CpuRun one = train_on_cpu(tiny_mlp(3), 2, plan, whole);
  CpuOptions options;
  options.checkpoint = path;
  train_on_cpu(tiny_mlp(3), 2, plan, half, options);
  options.resume = true;
  const CpuRun second = train_on_cpu(tiny_mlp(3), 2, plan, whole, options);
  EXPECT_EQ(second.run.first_step, 3);
  EXPECT_EQ(second.run.losses, one.run.losses);
  std::filesystem::remove(path);
}

// B-REL-04: at least 99 in 100 flips of exponents are found, and going back restores the loss.
TEST(FlippedBits, OfExponentsAreFoundAndTheRunGoesBack) {
  struct Case {
    std::int64_t devices;
    Settings plan;
    const char* flips;
  };
  const std::vector<Case> cases = {
      {1, {}, "flip-bits=weights:5e-5,optimizer:5e-5,activations:3e-5"},
      {2, {"dp=2", "zero=1"}, "flip-bits=weights:5e-5,messages:5e-5,activations:3e-5"},
      {2,
       {"pp=2", "schedule=1f1b", "optimizer=adamw"},
       "flip-bits=weights:5e-5,optimizer:5e-5,messages:1e-4"},
      {2, {"dp=2", "precision=bf16", "optimizer=adamw"}, "flip-bits=weights:5e-5,messages:5e-5"},
  };
  FlipCounts all;
  for (const Case& c : cases) {
    SCOPED_TRACE(c.flips);
    const Settings plan = with(kFlippedAlone, c.plan);
    const CpuRun clean = train_on_cpu(tiny_mlp(4), c.devices, plan, flipped_training({}));
    for (std::uint64_t seed = 1; seed <= 4; ++seed)
      for (const char* recover : {"recover=1", "recover=4"}) {
        const CpuRun run = train_on_cpu(
            tiny_mlp(4), c.devices, plan,
            flipped_training({c.flips, "flip-part=exponent", "flip-check=checksums", recover},
                             seed));
        const FlipReport& flips = *run.run.flips;
        const FlipCounts counts = flips.all();
        all.injected += counts.injected, all.detected += counts.detected;
        EXPECT_EQ(flips.false_alarms, 0);
        EXPECT_EQ(flips.not_restored, 0);
        EXPECT_LE(last_loss(run), 1.01 * last_loss(clean));
        if (counts.missed() > 0) continue;
        // Where all are found, nothing is left of them.
        EXPECT_EQ(run.run.losses, clean.run.losses);
        EXPECT_EQ(testing::apart(run.parameters, clean.parameters), 0);
      }
  }
  EXPECT_GT(all.injected, 60);
  EXPECT_GE(static_cast<double>(all.detected), 0.99 * static_cast<double>(all.injected));
}

// B-REL-04: at most one alarm in 100 steps in which nothing has flipped.
TEST(FlippedBits, ChecksRaiseFewFalseAlarms) {
  std::int64_t steps = 0, alarms = 0;
  for (const Settings& plan : std::vector<Settings>{
           {"optimizer=sgd"}, {"optimizer=adamw"}, {"optimizer=adamw", "precision=bf16"}})
    for (std::uint64_t seed = 1; seed <= 2; ++seed) {
      Training training =
          flipped_training({"flip-check=checksums,ranges,rules", "recover=5", "steps=40"});
      training.seed = seed;
      const Settings settings = with(kFlippedAlone, plan);
      const CpuRun run = train_on_cpu(tiny_mlp(4), 1, settings, training);
      steps += run.run.flips->steps, alarms += run.run.flips->false_alarms;
      training.flips = {};
      const CpuRun plain = train_on_cpu(tiny_mlp(4), 1, settings, training);
      EXPECT_FALSE(plain.run.flips);
      EXPECT_EQ(run.run.losses, plain.run.losses);
    }
  EXPECT_GE(steps, 6 * 40);
  EXPECT_LE(static_cast<double>(alarms), 0.01 * static_cast<double>(steps));
}

TEST(FlippedBits, OfLastBitsOfMantissasHardlyMatter) {
  const CpuRun clean = train_on_cpu(tiny_mlp(4), 1, kFlippedAlone, flipped_training({"steps=60"}));
  std::int64_t injected = 0;
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    const CpuRun run =
        train_on_cpu(tiny_mlp(4), 1, kFlippedAlone,
                     flipped_training({"flip-bits=weights:1e-4,optimizer:1e-4,activations:1e-4",
                                       "flip-part=last-mantissa", "steps=60"},
                                      seed));
    injected += run.run.flips->all().injected;
    EXPECT_NEAR(last_loss(run), last_loss(clean), 0.01 * last_loss(clean));
  }
  EXPECT_GT(injected, 4);
}

// One flip of the first bit of an exponent: in a gradient on its way.
TEST(FlippedBits, OneOfAnExponentKillsDescentUnlessItIsClippedOrFound) {
  const Settings plan = with(kFlippedAlone, {"dp=2", "optimizer=sgd"});
  const std::initializer_list<const char*> words = {"flip-bits=messages:0.01",
                                                    "flip-part=first-exponent", "flip-at=3"};
  const CpuRun clean = train_on_cpu(tiny_mlp(1), 2, plan, flipped_training({}));
  int tried = 0, killed = 0, survived = 0, recovered = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    Training training = flipped_training(words, seed);
    const CpuRun run = train_on_cpu(tiny_mlp(1), 2, plan, training);
    if (run.run.flips->all().injected != 1) continue;
    ++tried;
    killed += worst_loss(run) > 10 * worst_loss(clean);
    training.clip = 1;
    survived += worst_loss(train_on_cpu(tiny_mlp(1), 2, plan, training)) < 2 * worst_loss(clean);
    training.clip = 0;
    apply_training(training, "flip-check=rules,ranges");
    training.flips.recover = 1;
    const CpuRun back = train_on_cpu(tiny_mlp(1), 2, plan, training);
    recovered += back.run.losses == clean.run.losses;
  }
  EXPECT_GE(tried, 3);
  // A gradient of 0 becomes 2, which is not too large for the weights.
  EXPECT_GE(killed, 2);
  EXPECT_EQ(survived, tried);
  EXPECT_GE(recovered, killed);
}

TEST(FlippedBits, ACodeCorrectsThoseThatAreAlone) {
  const CpuRun clean = train_on_cpu(tiny_mlp(4), 1, kFlippedAlone, flipped_training({}));
  const CpuRun few =
      train_on_cpu(tiny_mlp(4), 1, kFlippedAlone,
                   flipped_training({"flip-bits=weights:0.0002,optimizer:0.0002,activations:0.0002",
                                     "flip-ecc=weights,optimizer,activations"}));
  const FlipCounts alone = few.run.flips->all();
  EXPECT_GT(alone.corrected, 5);
  EXPECT_EQ(alone.injected, alone.corrected + alone.detected + alone.missed());
  ASSERT_EQ(alone.corrected, alone.injected);
  EXPECT_EQ(few.run.losses, clean.run.losses);
  // Two in a word are known, after which the run goes back.
  const CpuRun many =
      train_on_cpu(tiny_mlp(4), 1, kFlippedAlone,
                   flipped_training({"flip-bits=weights:0.002", "flip-ecc=weights", "recover=1"}));
  EXPECT_GT(many.run.flips->alarms[static_cast<std::size_t>(FlipDetector::Ecc)], 0);
  EXPECT_GT(many.run.flips->restores, 0);
}

TEST(FlippedBits, OfSavedStatesAreFoundWhenTheyAreRead) {
  const CpuRun clean = train_on_cpu(tiny_mlp(3), 1, kFlippedAlone, flipped_training({}));
  std::int64_t damaged = 0;
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    const CpuRun run =
        train_on_cpu(tiny_mlp(3), 1, kFlippedAlone,
                     flipped_training({"flip-bits=weights:2e-4,checkpoints:1e-5",
                                       "flip-part=exponent", "flip-check=checksums", "recover=2"},
                                      seed));
    damaged += run.run.flips->alarms[static_cast<std::size_t>(FlipDetector::Damage)];
    if (run.run.flips->not_restored == 0 &&
        run.run.flips->classes[static_cast<std::size_t>(FlipClass::Weights)].missed() == 0) {
      EXPECT_EQ(run.run.losses, clean.run.losses);
    }
  }
  EXPECT_GT(damaged, 0);
  CpuOptions options;
  options.checkpoint = ::testing::TempDir() + "bit_flips_damaged.checkpoint";
  train_on_cpu(tiny_mlp(3), 1, kFlippedAlone, flipped_training({"flip-bits=checkpoints:0.001"}),
               options);
  EXPECT_THROW(load_checkpoint(options.checkpoint), Error);
  std::filesystem::remove(options.checkpoint);
}

TEST(FlippedBits, PlansThatHaveNoSuchStateAreRefused) {
  const Training training = flipped_training({"flip-bits=activations:0.1", "steps=2"});
  EXPECT_THROW(
      train_on_cpu(tiny_mlp(4), 2, with(kFlippedAlone, {"pp=2", "schedule=pipedream"}), training),
      Error);
  EXPECT_THROW(train_on_cpu(tiny_mlp(4), 2,
                            with(kFlippedAlone, {"dp=2", "zero=1", "offload=optimizer"}), training),
               Error);
}

}  // namespace
}  // namespace trainyard

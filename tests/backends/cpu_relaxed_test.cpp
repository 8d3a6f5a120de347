// Tests that replicas that meet once in several steps train as replicas that are each alone for so
// long, and meet as published.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <filesystem>

#include "core/estimate/estimate.h"
#include "core/training/parameter_server.h"
#include "tests/support/cpu_training.h"
#include "tests/support/lone_replica.h"
#include "tests/support/tiny_models.h"

namespace trainyard {
namespace {

using testing::CpuRun;
using testing::Settings;
using testing::step_alone;
using testing::Tensors;
using testing::tiny_mlp;
using testing::tiny_transformer;
using testing::train_on_cpu;

Training relaxed_training(std::int64_t steps) {
  Training t;
  t.rate = 0.1;
  t.steps = steps;
  t.momentum = 0.8;
  return t;
}

// Trains so many replicas one by one by gradient descent, of two samples a step each. Returns what
// they train together: the centre where there is an elasticity, else their mean.
Tensors serially(const Model& model, const Training& training, std::size_t replicas,
                 std::int64_t period, double elasticity, const Tensors& initial) {
  std::vector<Tensors> own(replicas, initial);
  Tensors centre = initial;
  const double p = static_cast<double>(replicas);
  Tensors mean = initial;
  const auto find_mean = [&] {
    for (std::size_t t = 0; t < mean.size(); ++t)
      for (std::size_t i = 0; i < mean[t].values.size(); ++i) {
        double sum = 0;
        for (const Tensors& one : own) sum += one[t].values[i];
        mean[t].values[i] = static_cast<float>(sum / p);
      }
  };
  for (std::int64_t step = 0; step < training.steps; ++step) {
    for (std::size_t r = 0; r < replicas; ++r)
      own[r] = step_alone(
          model, training, 2,
          (step * static_cast<std::int64_t>(replicas) + static_cast<std::int64_t>(r)) * 2, own[r]);
    find_mean();
    if ((step + 1) % period != 0) continue;
    for (std::size_t t = 0; t < mean.size(); ++t)
      for (std::size_t i = 0; i < mean[t].values.size(); ++i) {
        float& c = centre[t].values[i];
        double pulls = 0;
        for (Tensors& one : own) {
          float& x = one[t].values[i];
          const double away = double{x} - double{c};
          pulls += away;
          x = elasticity > 0 ? static_cast<float>(x - elasticity / p * away) : mean[t].values[i];
        }
        c = static_cast<float>(c + elasticity / p * pulls);
      }
  }
  find_mean();
  return elasticity > 0 ? centre : mean;
}

void expect_near(const Tensors& found, const Tensors& wanted, double most_apart) {
  ASSERT_EQ(found.size(), wanted.size());
  for (std::size_t t = 0; t < testing::non_empty(wanted).size(); ++t)
    for (std::size_t i = 0; i < wanted[t].values.size(); ++i)
      ASSERT_NEAR(found[t].values[i], wanted[t].values[i], most_apart) << wanted[t].name;
}

// Five steps end between two exchanges of either period.
TEST(CpuRelaxed, TrainsAsReplicasThatAreEachAloneAndMeet) {
  const Model model = tiny_mlp(4);
  const Tensors initial = train_on_cpu(model, 1, {}, relaxed_training(1)).initial;
  struct Case {
    std::size_t replicas;
    std::int64_t period;
    double elasticity;
  };
  for (const Case& c : {Case{2, 2, 0}, Case{4, 3, 0}, Case{3, 2, 0}, Case{2, 2, 0.9},
                        Case{4, 3, 0.9}, Case{4, 1, 1.5}, Case{3, 2, 0.3}}) {
    const std::string replicas = std::to_string(c.replicas),
                      batch = "global-batch=" + std::to_string(2 * c.replicas),
                      period = "sync.period=" + std::to_string(c.period),
                      elasticity = "sync.elasticity=" + std::to_string(c.elasticity);
    SCOPED_TRACE(replicas + " " + period + " " + elasticity);
    Settings words = {"optimizer=sgd", "micro-batch=1", batch,
                      c.elasticity > 0 ? "sync=easgd" : "sync=local-sgd", period};
    if (c.elasticity > 0) words.push_back(elasticity);
    const CpuRun run =
        train_on_cpu(model, static_cast<std::int64_t>(c.replicas), words, relaxed_training(5));
    expect_near(run.parameters,
                serially(model, relaxed_training(5), c.replicas, c.period, c.elasticity, initial),
                5e-6);
    CpuOptions wall;
    wall.mode = RunMode::WallClock;
    EXPECT_EQ(
        train_on_cpu(model, static_cast<std::int64_t>(c.replicas), words, relaxed_training(5), wall)
            .run.losses,
        run.run.losses);
  }
}

// Trains so many replicas one by one by gradient descent, each of which brings the server what has
// changed since it has fetched its weights. Returns the server's.
Tensors by_server(const Model& model, const Training& training, std::size_t replicas,
                  std::int64_t period, bool shuffled, bool divides, const Tensors& initial) {
  std::vector<Tensors> own(replicas, initial), fetched(replicas, initial);
  Tensors server = initial;
  std::vector<std::int64_t> fetched_at(replicas, 0);
  std::int64_t taken = 0;
  for (std::int64_t step = 0; step < training.steps; ++step) {
    for (std::size_t r = 0; r < replicas; ++r)
      own[r] = step_alone(
          model, training, 2,
          (step * static_cast<std::int64_t>(replicas) + static_cast<std::int64_t>(r)) * 2, own[r]);
    if ((step + 1) % period != 0) continue;
    for (const std::int64_t next :
         order_of({static_cast<std::int64_t>(replicas), shuffled, training.seed},
                  (step + 1) / period - 1)) {
      const auto r = static_cast<std::size_t>(next);
      const double parts =
          divides ? static_cast<double>(std::max<std::int64_t>(1, taken - fetched_at[r])) : 1;
      for (std::size_t t = 0; t < server.size(); ++t)
        for (std::size_t i = 0; i < server[t].values.size(); ++i)
          server[t].values[i] += static_cast<float>(
              (double{own[r][t].values[i]} - double{fetched[r][t].values[i]}) / parts);
      own[r] = fetched[r] = server;
      fetched_at[r] = ++taken;
    }
  }
  return server;
}

TEST(CpuRelaxed, DownpourTrainsAsReplicasThatBringAServerTheirChanges) {
  const Model model = tiny_mlp(4);
  struct Case {
    std::size_t replicas;
    std::int64_t period;
    bool shuffled, divides;
  };
  for (const Case& c : {Case{2, 1, false, false}, Case{4, 1, true, true}, Case{3, 2, true, false},
                        Case{3, 1, false, true}, Case{5, 2, true, true}}) {
    const std::string replicas = std::to_string(c.replicas),
                      batch = "global-batch=" + std::to_string(2 * c.replicas),
                      period = "sync.period=" + std::to_string(c.period);
    SCOPED_TRACE(replicas + " " + period);
    const Settings words = {"optimizer=sgd",
                            "micro-batch=1",
                            batch,
                            c.replicas == 3 ? "sync=hogwild" : "sync=downpour",
                            period,
                            c.shuffled ? "sync.arrival=shuffled" : "sync.arrival=in-turn",
                            c.divides ? "sync.change=by-staleness" : "sync.change=whole"};
    Training training = relaxed_training(5);
    training.seed = 7;
    const Tensors from = train_on_cpu(model, 1, {}, training).initial;
    const CpuRun run = train_on_cpu(model, static_cast<std::int64_t>(c.replicas), words, training);
    expect_near(run.parameters,
                by_server(model, training, c.replicas, c.period, c.shuffled, c.divides, from),
                5e-6);
    std::int64_t changes = 0, sum = 0;
    for (std::size_t s = 0; s < run.run.staleness.size(); ++s)
      changes += run.run.staleness[s], sum += static_cast<std::int64_t>(s) * run.run.staleness[s];
    const auto p = static_cast<std::int64_t>(c.replicas);
    EXPECT_EQ(changes, 5 / c.period * p);
    // The first round's changes are 0 to P - 1 others old.
    EXPECT_EQ(sum, (changes - p) * (p - 1) + p * (p - 1) / 2);
    CpuOptions wall;
    wall.mode = RunMode::WallClock;
    EXPECT_EQ(train_on_cpu(model, static_cast<std::int64_t>(c.replicas), words, training, wall)
                  .run.losses,
              run.run.losses);
  }
}

// The estimate and programs of both grains give a step the mean price of those of a period.
TEST(CpuRelaxed, IsPricedAlikeByTheEstimateAndByPrograms) {
  const Workload w = prepare(
      testing::scenario(testing::gpt(), 8, {"sync=local-sgd", "sync.period=8", "overlap=off"}));
  const auto cost = roofline_cost_model();
  double estimated = 0;
  for (const StageTime& stage : stage_times(w, *cost))
    estimated += static_cast<double>((stage.gather_others + stage.gather_last).count());
  EXPECT_GT(estimated, 1e4);
  for (const Grain grain : {Grain::Order, Grain::Op}) {
    LowerOptions options;
    options.grain = grain;
    const Program program = lower(w, options);
    const TaskPrices prices = price(program, w.scenario.plan.mesh, w.scenario.cluster, *cost);
    double sum = 0;
    for (std::size_t t = 0; t < program.tasks.size(); ++t)
      if (program.tasks[t].kind == TaskKind::Collective)
        sum += static_cast<double>(prices.time[t].count());
    EXPECT_NEAR(sum, estimated, 10);
  }
}

// Gradient descent is linear in the gradient: the mean of steps is the step of the mean.
RC_GTEST_PROP(CpuRelaxed, LocalSgdThatMeetsInEveryStepTrainsAsBsp, ()) {
  const bool staged = *rc::gen::arbitrary<bool>();
  const bool tied = *rc::gen::arbitrary<bool>(), wide = *rc::gen::arbitrary<bool>(),
             recomputes = *rc::gen::arbitrary<bool>();
  const std::string_view schedule =
      *rc::gen::element<std::string_view>("schedule=gpipe", "schedule=1f1b", "schedule=zb-h1");
  Settings words = {"optimizer=sgd", "global-batch=16", wide ? "micro-batch=2" : "micro-batch=1",
                    recomputes ? "recompute=full" : "recompute=none"};
  if (staged) words.insert(words.end(), {"pp=2", schedule});
  const Model model = tiny_transformer({.family = "llama", .tied = tied});
  const CpuRun bsp = train_on_cpu(model, 4, words, relaxed_training(3));
  words.insert(words.end(), {"sync=local-sgd", "sync.period=1"});
  const CpuRun local = train_on_cpu(model, 4, words, relaxed_training(3));
  testing::expect_same_training(local, bsp, 1e-5);
  RC_ASSERT(!::testing::Test::HasFailure());
}

// All replicas have computed with the same weights when the server takes their first changes, whose
// sum it has then, as a step of reduce=sum.
RC_GTEST_PROP(CpuRelaxed, TheFirstStepOfDownpourIsThatOfTheSum, ()) {
  const bool staged = *rc::gen::arbitrary<bool>(), shuffled = *rc::gen::arbitrary<bool>();
  const std::string_view schedule =
      *rc::gen::element<std::string_view>("schedule=gpipe", "schedule=1f1b", "schedule=zb-h1");
  Settings words = {"optimizer=sgd", "global-batch=12", "micro-batch=2", "precision=fp32"};
  if (staged) words.insert(words.end(), {"pp=2", schedule});
  const Model model = tiny_transformer({.family = *rc::gen::element<std::string>("llama", "gpt2")});
  const std::int64_t devices = staged ? 6 : 3;
  Training training = relaxed_training(1);
  training.rate = 0.01;
  Settings sum = words;
  sum.push_back("reduce=sum");
  const CpuRun added = train_on_cpu(model, devices, sum, training);
  words.insert(words.end(), {"sync=downpour", "sync.period=1",
                             shuffled ? "sync.arrival=shuffled" : "sync.arrival=in-turn"});
  const CpuRun served = train_on_cpu(model, devices, words, training);
  testing::expect_same_training(served, added, 1e-5);
  RC_ASSERT(!::testing::Test::HasFailure());
}

// Every replica has weights and moments of its own, easgd a centre and downpour what it serves,
// which a checkpoint keeps.
TEST(CpuRelaxed, ResumesToTheSameBitsBetweenTwoExchanges) {
  const std::string path = ::testing::TempDir() + "cpu_relaxed.checkpoint";
  for (const char* kind : {"sync=local-sgd", "sync=easgd", "sync=downpour"})
    for (const char* precision : {"precision=fp32", "precision=bf16", "precision=fp16"}) {
      SCOPED_TRACE(std::string(kind) + " " + precision);
      const Settings words = {"global-batch=8", "micro-batch=1",   "dp=4",
                              precision,        "optimizer=adamw", kind,
                              "sync.period=2"};
      const CpuRun whole = train_on_cpu(tiny_transformer(), 4, words, relaxed_training(7));
      CpuOptions options;
      options.checkpoint = path;
      train_on_cpu(tiny_transformer(), 4, words, relaxed_training(3), options);
      options.resume = true;
      const CpuRun rest = train_on_cpu(tiny_transformer(), 4, words, relaxed_training(7), options);
      EXPECT_EQ(rest.run.first_step, 3);
      EXPECT_EQ(rest.run.losses, whole.run.losses);
      expect_near(rest.parameters, whole.parameters, 0);
      Settings other = words;
      other.push_back("sync.period=3");
      EXPECT_THROW(train_on_cpu(tiny_transformer(), 4, other, relaxed_training(7), options), Error);
      std::filesystem::remove(path);
    }
}

// Weights after an exchange are the same with and without moments that are averaged; what follows
// differs.
TEST(CpuRelaxed, AveragedStateIsThatOfAllReplicas) {
  const auto losses = [](const char* state) {
    return train_on_cpu(tiny_mlp(4), 4,
                        {"global-batch=8", "micro-batch=2", "optimizer=adamw", "sync=local-sgd",
                         "sync.period=2", state},
                        relaxed_training(6))
        .run.losses;
  };
  const std::vector<double> own = losses("sync.state=false"), mean = losses("sync.state=true");
  for (std::size_t i = 0; i < 3; ++i)  // the first step after an exchange sees weights alone
    EXPECT_EQ(own[i], mean[i]) << i;
  EXPECT_NE(own[3], mean[3]);
}

// Two steps of a clipped gradient move a replica, and so the mean of replicas, by at most twice the
// rate times the threshold.
TEST(CpuRelaxed, EachReplicaClipsItsOwnGradient) {
  Training training = relaxed_training(2);
  const Settings words = {"global-batch=8", "micro-batch=2", "optimizer=sgd", "sync=local-sgd",
                          "sync.period=2"};
  training.clip = 1e9;
  const CpuRun loose = train_on_cpu(tiny_mlp(4), 4, words, training);
  EXPECT_GT(loose.run.gradient_norm, 0);
  training.clip = 1e-3;
  const CpuRun tight = train_on_cpu(tiny_mlp(4), 4, words, training);
  double moved = 0, most = 0;
  for (std::size_t t = 0; t < testing::non_empty(tight.parameters).size(); ++t)
    for (std::size_t i = 0; i < tight.parameters[t].values.size(); ++i) {
      const double change =
          double{tight.parameters[t].values[i]} - double{tight.initial[t].values[i]};
      moved += change * change;
    }
  most = 2 * training.rate * training.clip;
  EXPECT_LE(std::sqrt(moved), most * (1 + 1e-3));
  EXPECT_GT(std::sqrt(moved), 0);
}

}  // namespace
}  // namespace trainyard

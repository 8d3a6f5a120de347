// Tests that a plan whose replicas combine updates by Adasum trains as replicas that are each alone
// for a step and whose updates one then combines by the tree.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <map>

#include "core/training/adasum.h"
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

Training adasum_training(std::int64_t steps) {
  Training t;
  t.rate = 0.1;
  t.steps = steps;
  t.momentum = 0.8;
  return t;
}

// Trains so many replicas one by one, each with its own velocity, and combines their steps.
struct Serial {
  Tensors weights;
  std::vector<std::map<int, double>> orthogonality;  // by step, then layer
};
Serial serially(const Model& model, const Training& training, std::size_t replicas,
                std::int64_t samples, Tensors weights, bool momentum, std::int64_t mean_ranks) {
  Serial made;
  std::vector<std::vector<std::vector<float>>> velocity(replicas);  // then by tensor
  for (std::int64_t step = 0; step < training.steps; ++step) {
    std::vector<Tensors> after;
    for (std::size_t r = 0; r < replicas; ++r)
      after.push_back(step_alone(
          model, training, samples,
          (step * static_cast<std::int64_t>(replicas) + static_cast<std::int64_t>(r)) * samples,
          weights));
    std::map<int, double> parts, whole;
    for (std::size_t t = 0; t < weights.size(); ++t) {
      std::vector<std::vector<float>> changes(replicas);
      for (std::size_t r = 0; r < replicas; ++r) {
        velocity[r].resize(weights.size());
        velocity[r][t].resize(weights[t].values.size(), 0);
        for (std::size_t i = 0; i < weights[t].values.size(); ++i) {
          float& v = velocity[r][t][i];
          const float change = after[r][t].values[i] - weights[t].values[i];
          v = (momentum ? static_cast<float>(training.momentum) * v : 0) + change;
          changes[r].push_back(v);
        }
      }
      std::vector<std::span<float>> ranks(changes.begin(), changes.end());
      const std::int64_t elements[] = {static_cast<std::int64_t>(weights[t].values.size())};
      parts[weights[t].layer] += adasum_tree(ranks, elements, mean_ranks);
      for (std::size_t i = 0; i < changes[0].size(); ++i) {
        weights[t].values[i] += changes[0][i];
        whole[weights[t].layer] += double{changes[0][i]} * double{changes[0][i]};
      }
    }
    for (auto& [layer, sum] : whole) sum /= parts[layer];
    made.orthogonality.push_back(std::move(whole));
  }
  made.weights = std::move(weights);
  return made;
}

void expect_near(const Tensors& found, const Tensors& wanted, double most_apart) {
  for (const TrainedTensor& one : testing::non_empty(wanted)) {
    const auto same = std::find_if(found.begin(), found.end(), [&](const TrainedTensor& t) {
      return t.layer == one.layer && t.name == one.name;
    });
    ASSERT_TRUE(same != found.end()) << one.name;
    for (std::size_t i = 0; i < one.values.size(); ++i)
      ASSERT_NEAR(same->values[i], one.values[i], most_apart) << one.name << " of " << one.layer;
  }
}

struct AdasumPlan {
  Model model;
  std::int64_t devices = 2;
  std::size_t replicas = 2;
  Settings words;
  std::int64_t samples = 2;  // of a replica in a step
  double clip = 0;
};

void expect_serial(const AdasumPlan& plan, const char* reduce) {
  std::string text = reduce;
  for (std::string_view word : plan.words) text += " " + std::string(word);
  SCOPED_TRACE(plan.model.name + " " + text);
  Settings words = plan.words;
  const std::string batch =
      "global-batch=" + std::to_string(plan.samples * static_cast<std::int64_t>(plan.replicas));
  words.insert(words.end(), {"micro-batch=1", batch, reduce});
  Training training = adasum_training(3);
  training.clip = plan.clip;
  const bool momentum = std::find(words.begin(), words.end(), "optimizer=momentum") != words.end();
  words.insert(words.begin(), "precision=fp32");
  Scenario s = testing::scenario(plan.model, plan.devices, words, "cpu");
  const std::int64_t mean_ranks = reduce == std::string_view("reduce=adasum-hierarchical") ? 2 : 1;
  if (mean_ranks > 1) s.cluster = parse_cluster("cpu:4,per-node=2");
  const CpuRun run = train_on_cpu(s, training);
  // The last stage's copy of a table follows the table.
  const Tensors initial = train_on_cpu(plan.model, 1, {}, adasum_training(1)).initial;
  const Serial serial =
      serially(plan.model, training, plan.replicas, plan.samples, initial, momentum, mean_ranks);
  expect_near(run.parameters, serial.weights, 5e-6);
  ASSERT_EQ(run.run.orthogonality.size(), 3u);
  // The last layer has a copy of the table among its updates, where it is on another stage.
  const int copy_in = run.workload.layout.tied_copies ? run.parameters.back().layer : -1;
  for (std::size_t step = 0; step < 3; ++step)
    for (const auto& [layer, ratio] : serial.orthogonality[step]) {
      if (layer == copy_in) continue;
      EXPECT_NEAR(run.run.orthogonality[step][static_cast<std::size_t>(layer)], ratio, 1e-4)
          << layer << " in step " << step;
    }
  CpuOptions wall;
  wall.mode = RunMode::WallClock;
  EXPECT_EQ(train_on_cpu(s, training, wall).run.losses, run.run.losses);
}

TEST(CpuAdasum, TrainsAsReplicasThatAreEachAloneForAStep) {
  const AdasumPlan plans[] = {
      {tiny_mlp(4), 2, 2, {"dp=2", "optimizer=sgd"}},
      {tiny_mlp(4), 8, 8, {"dp=8", "optimizer=sgd"}},
      {tiny_mlp(4), 4, 4, {"dp=4", "optimizer=momentum"}},
      {tiny_mlp(4), 4, 4, {"dp=4", "optimizer=sgd"}, 2, 0.5},
      {tiny_transformer({.family = "llama"}), 4, 2, {"pp=2", "optimizer=sgd", "schedule=gpipe"}, 4},
      {tiny_transformer({.family = "llama"}), 4, 2, {"pp=2", "optimizer=sgd", "schedule=zb-h1"}, 4},
      {tiny_transformer({.family = "llama", .tied = true}), 4, 2, {"pp=2", "optimizer=sgd"}, 4},
      {tiny_transformer({.family = "llama"}),
       4,
       2,
       {"pp=2", "optimizer=sgd", "schedule=chimera"},
       4},
      {tiny_transformer({.family = "llama", .tied = true}),
       4,
       4,
       {"dp=4", "optimizer=momentum", "recompute=full"}},
  };
  for (const AdasumPlan& plan : plans)
    for (const char* reduce : {"reduce=adasum", "reduce=adasum-tree"}) expect_serial(plan, reduce);
  expect_serial({tiny_mlp(4), 4, 4, {"dp=4", "optimizer=sgd"}}, "reduce=adasum-hierarchical");
}

// Who watches a run hears of every layer, and the last steps' numbers are those of its report.
TEST(CpuAdasum, TellsOfEveryLayerWhileItRuns) {
  LiveSink sink(4);
  CpuOptions options;
  options.live = &sink;
  const CpuRun run = train_on_cpu(
      tiny_mlp(4), 4, {"dp=4", "global-batch=8", "micro-batch=1", "optimizer=sgd", "reduce=adasum"},
      adasum_training(3), options);
  std::vector<LiveStep> steps;
  std::vector<LiveSpan> spans;
  std::vector<LiveMemory> memory;
  sink.drain(spans, memory, steps);
  ASSERT_EQ(steps.size(), 3u);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    ASSERT_NE(steps[i].orthogonality, nullptr);
    EXPECT_EQ(*steps[i].orthogonality, run.run.orthogonality[i]);
    EXPECT_GT(steps[i].orthogonality->size(), 4u);
    EXPECT_EQ(steps[i].energy_sent, nullptr);
  }
}

// Each replica has moments of its own, which a checkpoint keeps.
TEST(CpuAdasum, ResumesToTheSameBits) {
  const std::string path = ::testing::TempDir() + "cpu_adasum.checkpoint";
  for (const char* precision : {"precision=fp32", "precision=bf16", "precision=fp16"}) {
    const Settings words = {"global-batch=8", "micro-batch=1",   "dp=4",
                            precision,        "optimizer=adamw", "reduce=adasum"};
    const CpuRun whole = train_on_cpu(tiny_transformer(), 4, words, adasum_training(6));
    CpuOptions options;
    options.checkpoint = path;
    train_on_cpu(tiny_transformer(), 4, words, adasum_training(3), options);
    options.resume = true;
    const CpuRun rest = train_on_cpu(tiny_transformer(), 4, words, adasum_training(6), options);
    EXPECT_EQ(rest.run.first_step, 3);
    EXPECT_EQ(rest.run.losses, whole.run.losses) << precision;
    EXPECT_EQ(rest.run.orthogonality.size(), 3u);
    std::filesystem::remove(path);
  }
}

// Under every optimizer and format, halves and whole vectors teach the same.
TEST(CpuAdasum, HalvesTeachWhatWholeVectorsTeach) {
  for (const char* optimizer : {"optimizer=adamw", "optimizer=lamb", "optimizer=lion"})
    for (const char* precision : {"precision=fp32", "precision=bf16", "precision=fp16"}) {
      SCOPED_TRACE(std::string(optimizer) + " " + precision);
      Training training = adasum_training(4);
      training.rate = 0.01;
      training.clip = 1;
      const auto losses = [&](const char* reduce) {
        return train_on_cpu(
                   tiny_transformer(), 4,
                   {"global-batch=8", "micro-batch=1", "dp=4", precision, optimizer, reduce},
                   training)
            .run.losses;
      };
      const std::vector<double> halves = losses("reduce=adasum"),
                                tree = losses("reduce=adasum-tree"), mean = losses("reduce=mean");
      EXPECT_EQ(halves.front(), mean.front());
      EXPECT_NE(halves.back(), mean.back());
      for (std::size_t i = 0; i < tree.size(); ++i)
        EXPECT_NEAR(halves[i], tree[i],
                    (precision == std::string_view("precision=fp32") ? 1e-5 : 2e-2) * tree[i]);
    }
}

// The sum is the mean at as many times the rate.
TEST(CpuAdasum, SumIsTheMeanAtTheRateTimesTheReplicas) {
  Training training = adasum_training(4);
  training.rate = 0.05;
  const Settings words = {"global-batch=8", "micro-batch=1", "dp=4", "optimizer=momentum"};
  const auto with = [&](const char* word) {
    Settings all = words;
    all.emplace_back(word);
    return all;
  };
  const CpuRun sum = train_on_cpu(tiny_mlp(4), 4, with("reduce=sum"), training);
  training.rate *= 4;
  const CpuRun mean = train_on_cpu(tiny_mlp(4), 4, words, training);
  testing::expect_same_training(sum, mean, 1e-5);
}

}  // namespace
}  // namespace trainyard

// Tests that a plan whose replicas compress gradients trains as replicas that each add up their own
// and send the largest, and that nothing is lost where all is sent.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <filesystem>
#include <map>

#include "core/methods/parallel/compression.h"
#include "core/training/compression.h"
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

Training compressed_training(std::int64_t steps) {
  Training t;
  t.rate = 0.1;
  t.steps = steps;
  t.momentum = 0.8;
  return t;
}

// Trains four replicas one by one by the published steps, in plain loops.
Tensors serially(const Model& model, const Training& training, const Compression& how,
                 Tensors weights) {
  constexpr std::size_t kReplicas = 4;
  Training plain = training;
  plain.weight_decay = plain.clip = 0;
  std::vector<std::vector<std::vector<float>>> u(kReplicas), v(kReplicas);
  std::vector<std::vector<float>> dense(weights.size());
  for (std::int64_t step = 0; step < training.steps; ++step) {
    std::vector<std::vector<float>> sums(weights.size());
    std::vector<Tensors> after;
    for (std::size_t r = 0; r < kReplicas; ++r)
      after.push_back(
          step_alone(model, plain, 2,
                     (step * std::int64_t{kReplicas} + static_cast<std::int64_t>(r)) * 2, weights));
    for (std::size_t t = 0; t < weights.size(); ++t) {
      const std::vector<float>& w = weights[t].values;
      const std::size_t n = w.size();
      const bool compresses = weights[t].shape.size() > 1;
      sums[t].resize(n), dense[t].resize(n);
      for (std::size_t r = 0; r < kReplicas; ++r) {
        u[r].resize(weights.size()), v[r].resize(weights.size());
        u[r][t].resize(n), v[r][t].resize(n);
        std::vector<float> g(n);
        double square = 0;
        for (std::size_t i = 0; i < n; ++i) {
          g[i] = (w[i] - after[r][t].values[i]) / static_cast<float>(training.rate);
          square += g[i] * g[i];
        }
        const double most = training.clip / 2;  // by the root of four replicas
        const bool clips = how.how == Compress::Dgc && training.clip > 0 && square > most * most;
        for (float& one : g) one *= clips ? static_cast<float>(most / std::sqrt(square)) : 1;
        if (!compresses) {
          for (std::size_t i = 0; i < n; ++i) sums[t][i] += g[i];
          continue;
        }
        const auto mu = static_cast<float>(how.how == Compress::Dgc ? training.momentum : 0);
        for (std::size_t i = 0; i < n; ++i) {
          if (!how.residuals) v[r][t][i] = 0;
          const float decayed = g[i] + static_cast<float>(training.weight_decay) * w[i];
          u[r][t][i] = mu * u[r][t][i] + decayed;
          if (training.nesterov && mu > 0)
            v[r][t][i] += decayed + mu * u[r][t][i];
          else
            v[r][t][i] += u[r][t][i];
        }
        const std::int64_t k =
            sent_elements(static_cast<std::int64_t>(n), ratio_at(how.ratio, how.warmup, step));
        for (const std::uint32_t i : top_k(v[r][t], k)) {
          sums[t][i] += v[r][t][i];
          v[r][t][i] = 0;
          if (how.masking && k < static_cast<std::int64_t>(n)) u[r][t][i] = 0;
        }
      }
      // The optimizer's momentum is that of tensors whose velocities were not sent.
      const bool velocities = compresses && how.how == Compress::Dgc;
      for (std::size_t i = 0; i < n; ++i) {
        const float mean = sums[t][i] / kReplicas,
                    mu = velocities ? 0 : static_cast<float>(training.momentum);
        dense[t][i] = mu * dense[t][i] + mean;
        const float along =
            training.nesterov && !velocities ? mean + mu * dense[t][i] : dense[t][i];
        weights[t].values[i] -= static_cast<float>(training.rate) * along;
      }
    }
  }
  return weights;
}

TEST(CpuCompression, TrainsAsThePublishedStepsDo) {
  const Model model = tiny_mlp(4);
  const Tensors initial = train_on_cpu(model, 1, {}, compressed_training(1)).initial;
  struct Case {
    Settings words;
    Compression how;
    bool nesterov = false;
    double decay = 0, clip = 0;
  };
  const Case cases[] = {
      {{"compression=topk", "compression.ratio=0.1"}, {Compress::TopK, 0.1}},
      {{"compression=topk", "compression.ratio=0.1", "compression.residuals=false"},
       {Compress::TopK, 0.1, 0, false}},
      {{"compression=dgc", "compression.ratio=0.1"}, {Compress::Dgc, 0.1}},
      {{"compression=dgc", "compression.ratio=0.1", "compression.masking=false"},
       {Compress::Dgc, 0.1, 0, true, false}},
      {{"compression=dgc", "compression.ratio=0.05", "compression.warmup=3"},
       {Compress::Dgc, 0.05, 3},
       true},
      {{"compression=dgc", "compression.ratio=0.1"}, {Compress::Dgc, 0.1}, false, 0.05, 0.02},
      {{"compression=topk", "compression.ratio=0.1"}, {Compress::TopK, 0.1}, false, 0.05},
  };
  for (const Case& c : cases) {
    std::string text;
    for (const std::string_view word : c.words) text += std::string(word) + " ";
    SCOPED_TRACE(text);
    Training training = compressed_training(5);
    training.nesterov = c.nesterov, training.weight_decay = c.decay, training.clip = c.clip;
    Settings words = {"dp=4", "micro-batch=1", "global-batch=8", "optimizer=momentum"};
    words.insert(words.end(), c.words.begin(), c.words.end());
    const CpuRun run = train_on_cpu(model, 4, words, training);
    const Tensors wanted = serially(model, training, c.how, initial);
    for (std::size_t t = 0; t < wanted.size(); ++t)
      for (std::size_t i = 0; i < wanted[t].values.size(); ++i)
        ASSERT_NEAR(run.parameters[t].values[i], wanted[t].values[i], 2e-5)
            << wanted[t].name << " of " << wanted[t].layer << ", element " << i;
    ASSERT_EQ(run.run.energy_sent.size(), 5u);
    // Where few weights have a gradient, all of it is sent.
    double least = 1;
    for (const auto& layers : run.run.energy_sent)
      for (const double share : layers) {
        EXPECT_TRUE(share >= 0 && share <= 1) << share;
        if (share > 0) least = std::min(least, share);
      }
    EXPECT_LT(least, 1);
    CpuOptions wall;
    wall.mode = RunMode::WallClock;
    EXPECT_EQ(train_on_cpu(model, 4, words, training, wall).run.losses, run.run.losses);
  }
}

// The law: where all is sent, any plan trains as without compression, to the bit where gradients
// are sent, and within rounding where their velocities are.
RC_GTEST_PROP(CpuCompression, SendingAllTrainsAsWithoutCompression, ()) {
  const bool dgc = *rc::gen::arbitrary<bool>(), transformer = *rc::gen::arbitrary<bool>();
  Settings words = {"micro-batch=1"};
  const int pp = transformer ? *rc::gen::element(1, 2) : 1, dp = *rc::gen::element(2, 3, 4);
  const std::string stages = "pp=" + std::to_string(pp),
                    batch = "global-batch=" +
                            std::to_string(dp * *rc::gen::element(pp, 2 * pp, 3 * pp)),
                    optimizer = std::string("optimizer=") +
                                (dgc ? *rc::gen::element<const char*>("sgd", "momentum")
                                     : *rc::gen::element<const char*>("sgd", "momentum", "adam",
                                                                      "adamw", "lamb", "lion")),
                    precision = std::string("precision=") +
                                (dgc ? "fp32" : *rc::gen::element<const char*>("fp32", "bf16")),
                    schedule = std::string("schedule=") +
                               *rc::gen::element<const char*>("1f1b", "gpipe", "zb-h1");
  words.insert(words.end(), {stages, batch, optimizer, precision, schedule});
  Training training = compressed_training(4);
  training.rate = 0.02;
  training.nesterov = *rc::gen::arbitrary<bool>();
  training.clip = dgc ? 0 : *rc::gen::element(0.0, 0.1);
  const auto model = [&]() -> Model {
    if (!transformer) return tiny_mlp(4);
    return tiny_transformer({.family = "llama", .tied = dgc});
  };
  Settings sent = words;
  const char* const kind =
      dgc ? "compression=dgc" : *rc::gen::element("compression=topk", "compression=mstopk");
  sent.insert(sent.end(), {kind, "compression.ratio=1"});
  const CpuRun dense = train_on_cpu(model(), pp * dp, words, training),
               all = train_on_cpu(model(), pp * dp, sent, training);
  if (!dgc) {
    RC_ASSERT(all.run.losses == dense.run.losses);
    for (std::size_t t = 0; t < dense.parameters.size(); ++t)
      RC_ASSERT(all.parameters[t].values == dense.parameters[t].values);
  }
  for (std::size_t i = 0; i < dense.run.losses.size(); ++i)
    RC_ASSERT(std::abs(all.run.losses[i] - dense.run.losses[i]) <= 1e-5 * dense.run.losses[i]);
  for (const auto& layers : all.run.energy_sent)
    for (const double share : layers) RC_ASSERT((share == 0 || share == 1));
}

// A checkpoint has what was not sent, and the velocities, of every replica.
TEST(CpuCompression, ResumesToTheSameBits) {
  const std::string path = ::testing::TempDir() + "cpu_compression.checkpoint";
  for (const char* kind : {"compression=dgc", "compression=topk", "compression=mstopk"})
    for (const char* precision : {"precision=fp32", "precision=bf16"}) {
      const Settings words = {"global-batch=8",
                              "micro-batch=1",
                              "dp=4",
                              precision,
                              "optimizer=momentum",
                              kind,
                              "compression.ratio=0.02",
                              "compression.warmup=4"};
      const CpuRun whole = train_on_cpu(tiny_transformer(), 4, words, compressed_training(6));
      CpuOptions options;
      options.checkpoint = path;
      train_on_cpu(tiny_transformer(), 4, words, compressed_training(3), options);
      options.resume = true;
      const CpuRun rest =
          train_on_cpu(tiny_transformer(), 4, words, compressed_training(6), options);
      EXPECT_EQ(rest.run.first_step, 3);
      EXPECT_EQ(rest.run.losses, whole.run.losses) << kind << precision;
      EXPECT_EQ(rest.run.energy_sent.size(), 3u);
      std::filesystem::remove(path);
    }
}

// Two nodes of two: where all is sent, sums are those of whole gradients in another order; else
// each shard waits with its owner, through a checkpoint, and on every clock.
TEST(CpuCompression, NodesExchangeShards) {
  const auto train = [](const Settings& more, std::int64_t steps, CpuOptions options = {}) {
    Settings words = {"precision=fp32", "micro-batch=1", "global-batch=8", "optimizer=momentum"};
    words.insert(words.end(), more.begin(), more.end());
    Scenario s = testing::scenario(tiny_transformer(), 4, words, "cpu");
    s.cluster = parse_cluster("cpu:4,per-node=2");
    Training training = compressed_training(steps);
    training.weight_decay = 0.01;
    return train_on_cpu(s, training, std::move(options));
  };
  const CpuRun dense = train({}, 6), all = train({"compression=hitopk", "compression.ratio=1"}, 6);
  testing::expect_same_training(all, dense, 1e-4);
  const Settings some = {"compression=hitopk", "compression.ratio=0.01", "compression.warmup=3"};
  const CpuRun whole = train(some, 6);
  EXPECT_NE(whole.run.losses, dense.run.losses);
  for (const auto& layers : whole.run.energy_sent)
    for (const double share : layers) EXPECT_TRUE(share >= 0 && share < 1) << share;
  CpuOptions wall;
  wall.mode = RunMode::WallClock;
  const CpuRun walled = train(some, 6, wall);
  EXPECT_EQ(walled.run.losses, whole.run.losses);
  EXPECT_EQ(walled.run.energy_sent, whole.run.energy_sent);
  CpuOptions options;
  options.checkpoint = ::testing::TempDir() + "cpu_hitopk.checkpoint";
  train(some, 3, options);
  options.resume = true;
  const CpuRun rest = train(some, 6, options);
  EXPECT_EQ(rest.run.first_step, 3);
  EXPECT_EQ(rest.run.losses, whole.run.losses);
  std::filesystem::remove(options.checkpoint);
  // Without residuals, less is learned of the same samples.
  EXPECT_NE(train({"compression=hitopk", "compression.ratio=0.01", "compression.warmup=3",
                   "compression.residuals=false"},
                  6)
                .run.losses,
            whole.run.losses);
}

// Counting selects nearly what sorting does, and teaches nearly the same.
TEST(CpuCompression, CountingTeachesWhatSortingTeaches) {
  const auto losses = [](const char* kind) {
    return train_on_cpu(tiny_transformer(), 4,
                        {"global-batch=8", "micro-batch=1", "dp=4", "optimizer=sgd", kind,
                         "compression.ratio=0.01"},
                        compressed_training(10))
        .run.losses;
  };
  const std::vector<double> sorted = losses("compression=topk"),
                            counted = losses("compression=mstopk");
  for (std::size_t i = 0; i < sorted.size(); ++i)
    EXPECT_NEAR(counted[i], sorted[i], 1e-3 * sorted[i]);
  EXPECT_NE(sorted, losses("compression=none"));
}

}  // namespace
}  // namespace trainyard

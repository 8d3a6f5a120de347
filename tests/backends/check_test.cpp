// The list of backends, and the reference and the CPU backend trained alike.
#include "backends/check.h"

#include <gtest/gtest.h>

#include <cmath>

#include "backends/backends.h"
#include "backends/cpu/cpu_backend.h"
#include "backends/reference/reference_backend.h"
#include "backends/simulator/simulator.h"
#include "core/base/error.h"
#include "core/cost/cost_model.h"
#include "core/model/edit.h"
#include "tests/support/layers.h"
#include "tests/support/tiny_models.h"

namespace trainyard {
namespace {

Training slow_and_plain() {
  Training training;
  training.rate = 0.05;
  training.momentum = 0.9;
  training.steps = 4;
  return training;
}

// A job on tiny layers and random data, as a program opens it.
struct TinyJob {
  TinyJob(std::int64_t devices, const testing::Settings& settings, Training t = slow_and_plain(),
          const Model& model = testing::tiny_mlp(2))
      : training(std::move(t)) {
    testing::Settings all = {"precision=fp32", "optimizer=momentum", "global-batch=4"};
    all.insert(all.end(), settings.begin(), settings.end());
    workload = prepare(testing::scenario(model, devices, all, "cpu"));
    const bool asynchronous = has_updates(order(workload, schedule_shape(workload)));
    program = lower(workload, {.grain = Grain::Op,
                               .steps = asynchronous ? static_cast<int>(training.steps) : 1});
    prices = price(program, workload.scenario.plan.mesh, workload.scenario.cluster,
                   *roofline_cost_model());
  }
  BackendJob job() const { return {workload, program, prices, &training, data.get()}; }
  std::unique_ptr<Backend> open(std::string_view name) const {
    return training_backend(name, {"--backend"}).open(job(), {});
  }

  Training training;
  std::unique_ptr<DataSource> data = open_data("random", 1);
  Workload workload;
  Program program;
  TaskPrices prices;
};

CheckReport checked(const TinyJob& tiny, std::string_view name = "cpu",
                    std::string_view expected = "reference",
                    const CheckTolerances& tolerances = {}) {
  const std::unique_ptr<Backend> first = tiny.open(name), second = tiny.open(expected);
  Check check(*first, *second, tolerances);
  check.run({});
  return check.report().value();
}

std::string reference_refusal(const TinyJob& tiny) {
  const Diagnostics found = ReferenceBackend::check(tiny.job());
  return found.empty() ? "accepted" : found.front().message + "; try " + found.front().fix;
}

TEST(Backends, EveryOneRunsAJobThatItsCheckLetPass) {
  const TinyJob tiny(2, {"pp=2"});
  for (const BackendEntry& entry : backends()) {
    EXPECT_FALSE(has_errors(entry.check(tiny.job()))) << entry.name;
    const std::unique_ptr<Backend> backend = entry.open(tiny.job(), {});
    EXPECT_EQ(backend->name(), entry.name);
    const BackendRun run = backend->run();
    EXPECT_EQ(run.losses.size(), entry.trains ? 4u : 0u) << entry.name;
    EXPECT_EQ(backend->parameters().empty(), !entry.trains) << entry.name;
    EXPECT_EQ(run.timeline.spans.size(), entry.measures ? tiny.program.instructions.size() : 0u)
        << entry.name;
    EXPECT_EQ(run.waves.size(), entry.measures ? 2u : 0u) << entry.name;
  }
}

TEST(Backends, AreNamedWithTheNearestAndTheReason) {
  const auto refusal = [](std::string_view name) {
    try {
      training_backend(name, {"--backend"});
      return std::string("accepted");
    } catch (const Error& error) {
      return describe(error);
    }
  };
  EXPECT_EQ(
      refusal("referenc"),
      "--backend: expected cpu or mpi or processes or reference, found \"referenc\"; did you mean "
      "\"reference\"?");
  EXPECT_EQ(refusal("simulator"),
            "--backend: expected a backend that trains, found \"simulator\", which trains nothing; "
            "\"trainyard simulate\" runs it");
}

TEST(Check, TheReferenceAndTheCpuBackendAgree) {
  for (const auto& [devices, settings] :
       {std::pair<int, testing::Settings>{1, {}},
        {2, {"pp=2", "schedule=1f1b"}},
        {2, {"dp=2"}},
        {1, {"schedule=gpipe", "micro-batch=1", "offload=both"}},
        {2, {"pp=2", "schedule=pipemare", "micro-batch=1"}},
        {2, {"pp=2", "schedule=pipedream-2bw", "micro-batch=1"}}}) {
    const CheckReport report = checked(TinyJob(devices, settings));
    EXPECT_TRUE(report.agrees()) << report.difference;
    EXPECT_EQ(report.found.size(), 4u);
    EXPECT_GT(report.worst_parameter, 0);  // one of them computes in double
  }
}

// Those of masked tokens and of the next sentence, whose sum BERT is trained on.
TEST(Check, TheBackendsAgreeOnTheSumOfTwoLosses) {
  const Model both = testing::tiny_pooler(EncoderHead::PoolerAndMaskedTokens),
              one = testing::tiny_pooler(EncoderHead::MaskedTokens);
  const CheckReport report = checked(TinyJob(1, {"seq=8"}, slow_and_plain(), both));
  EXPECT_TRUE(report.agrees()) << report.difference;
  // About ln 8 for the tokens, and ln 2 more for the sentences.
  const auto first_loss = [](const Model& model) {
    return TinyJob(1, {"seq=8"}, slow_and_plain(), model).open("cpu")->run().losses.front();
  };
  EXPECT_NEAR(first_loss(both) - first_loss(one), std::log(2.0), 0.1);
}

TEST(Check, EitherMayBeTheOneThatIsBelieved) {
  const CheckReport report = checked(TinyJob(1, {}), "reference", "cpu");
  EXPECT_TRUE(report.agrees()) << report.difference;
  EXPECT_EQ(report.backend, "cpu");
}

TEST(Check, BothBeginWithTheSameWeights) {
  const TinyJob tiny(1, {});
  const auto a = tiny.open("cpu")->parameters(), b = tiny.open("reference")->parameters();
  ASSERT_EQ(a.size(), b.size());
  ASSERT_FALSE(a.empty());
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_EQ(a[i].values, b[i].values) << a[i].name;
}

TEST(Check, ToleranceGrowsWithTheRoundingsOfThePlan) {
  const CheckReport report = checked(TinyJob(1, {"precision=bf16"}), "cpu", "reference",
                                     tolerances_of(TinyJob(1, {"precision=bf16"}).workload));
  EXPECT_TRUE(report.agrees()) << report.difference;
  EXPECT_GT(report.worst_loss, CheckTolerances{}.loss);
}

TEST(Check, ADifferenceIsNamed) {
  const CheckReport report =
      checked(TinyJob(1, {}), "cpu", "reference", {.loss = 1, .parameters = 1e-12});
  EXPECT_FALSE(report.agrees());
  EXPECT_NE(report.difference.find(" of layer "), std::string::npos) << report.difference;
}

TEST(Check, WhatWasStoppedIsNotCompared) {
  const TinyJob tiny(1, {});
  const std::unique_ptr<Backend> cpu = tiny.open("cpu"), reference = tiny.open("reference");
  Check check(*cpu, *reference, {});
  std::stop_source stop;
  stop.request_stop();
  EXPECT_TRUE(check.run({.stop = stop.get_token()}).stopped);
  EXPECT_FALSE(check.report());
}

TEST(Check, TrainingThatTheReferenceDoesNotKnowIsRefused) {
  EXPECT_EQ(reference_refusal(
                TinyJob(2, {"optimizer=adamw", "schedule=pipedream", "pp=2", "micro-batch=1"})),
            "the reference trains asynchronous schedules by sgd or momentum, found the optimizer "
            "adamw; try optimizer=momentum");
  Training warm = slow_and_plain();
  warm.warmup = 2;
  EXPECT_EQ(reference_refusal(TinyJob(1, {}, warm)),
            "the reference trains at a constant rate, without decay or clipping, found warmup=2; "
            "try --train warmup=0");
  EXPECT_EQ(reference_refusal(TinyJob(2, {"tp=2"})),
            "the reference executes whole tensors, found tp=2; try tp=1");
  Training endless = slow_and_plain();
  endless.steps = std::int64_t{1} << 40;
  EXPECT_NE(reference_refusal(TinyJob(1, {}, endless)).find("20 million instructions"),
            std::string::npos);
}

TEST(Check, WhatIsNotTrainedWholeIsRefused) {
  const auto refusals = [](Model model) {
    testing::Settings settings = {"precision=fp32", "optimizer=momentum", "global-batch=4"};
    const Workload w = prepare(testing::scenario(std::move(model), 1, settings, "cpu"));
    const Training training = slow_and_plain();
    Diagnostics found = CpuBackend::check({w, lower(w), TaskPrices{}, &training});
    return found.empty() ? std::string() : found.front().message;
  };
  const Model model = testing::tiny_mlp(2);
  const Block& block = model.blocks.back();
  const std::string node = block.graph.nodes.front().name + " of " + block.name;
  EXPECT_EQ(refusals(with_share_of_positions(model, block.name, 15)),
            "a local run trains on all positions, found " + node + " on a share of them");
}

}  // namespace
}  // namespace trainyard

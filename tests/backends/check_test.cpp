// The reference and the CPU backend, trained alike.
#include "backends/check.h"

#include <gtest/gtest.h>

#include "backends/cpu/cpu_backend.h"
#include "core/base/error.h"
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

Workload tiny(std::int64_t devices, const testing::Settings& settings) {
  testing::Settings all = {"precision=fp32", "optimizer=momentum", "global-batch=4"};
  all.insert(all.end(), settings.begin(), settings.end());
  return prepare(testing::scenario(testing::tiny_mlp(2), devices, all, "cpu"));
}

TEST(Check, TheReferenceAndTheCpuBackendAgree) {
  const auto data = open_data("random", 1);
  for (const auto& [devices, settings] :
       {std::pair<int, testing::Settings>{1, {}}, {2, {"pp=2", "schedule=1f1b"}}, {2, {"dp=2"}}}) {
    const CheckReport report = check_backends(tiny(devices, settings), slow_and_plain(), {}, *data);
    EXPECT_TRUE(report.agrees()) << report.difference;
    EXPECT_EQ(report.found.size(), 4u);
    EXPECT_GT(report.worst_parameter, 0);  // one of them computes in double
  }
}

TEST(Check, ADifferenceIsNamed) {
  const auto data = open_data("random", 1);
  const CheckReport report =
      check_backends(tiny(1, {}), slow_and_plain(), {}, *data, {.loss = 1, .parameters = 1e-12});
  EXPECT_FALSE(report.agrees());
  EXPECT_NE(report.difference.find(" of layer "), std::string::npos) << report.difference;
}

TEST(Check, TrainingThatTheReferenceDoesNotKnowIsRefused) {
  const auto data = open_data("random", 1);
  EXPECT_THROW(check_backends(tiny(1, {"optimizer=adamw"}), slow_and_plain(), {}, *data), Error);
}

TEST(Check, WhatIsNotTrainedWholeIsRefused) {
  const auto refusals = [](Model model) {
    testing::Settings settings = {"precision=fp32", "optimizer=momentum", "global-batch=4"};
    const Workload w = prepare(testing::scenario(std::move(model), 1, settings, "cpu"));
    Diagnostics found = CpuBackend::check(w, lower(w), slow_and_plain());
    return found.empty() ? std::string() : found.front().message;
  };
  const Model model = testing::tiny_mlp(2);
  const Block& block = model.blocks.back();
  const std::string node = block.graph.nodes.front().name + " of " + block.name;
  const std::string first =
      model.blocks.front().graph.nodes.front().name + " of " + model.blocks.front().name;
  EXPECT_EQ(refusals(frozen(model)),
            "a local run trains all weights on all positions, found " + first + " frozen");
  EXPECT_EQ(refusals(with_share_of_positions(model, block.name, 15)),
            "a local run trains all weights on all positions, found " + node +
                " on a share of the positions");
}

}  // namespace
}  // namespace trainyard

// Asynchronous pipelines trained for real: eight stages of a residual network on Fashion-MNIST,
// accuracy on held-out images by rate, seed and correction. The bars are those of PipeMare (Yang et
// al., MLSys 2021) and of pipelined backpropagation (Kosson et al., MLSys 2021), as tables of what
// came out; nothing here depends on the clock.
//
//   asynchrony_benchmark [updates] [pipemare|backprop|both]
#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <string>
#include <vector>

#include "backends/cpu/cpu_backend.h"
#include "backends/cpu/execution/evaluation.h"
#include "backends/simulator/simulator.h"
#include "core/cost/cost_model.h"
#include "core/methods/catalogue.h"
#include "core/methods/settings/settings.h"
#include "core/model/graph_builder.h"

namespace trainyard {
namespace {

constexpr int kStages = 8;
constexpr std::int64_t kWidth = 96;

// A layer a stage: x + relu(x w + b) / 3, between a first product and a head; a third is the root
// of the layers' number, so that what flows stays as large as it was.
Model residual_network() {
  Model model;
  model.name = "residual mlp";
  model.family = "mlp";
  model.tokens = false;
  GraphBuilder start;
  const TensorId image = start.graph.input = start.activation("input", {kBatch, whole(784)});
  const TensorId first =
      start.linear("fc", image, whole(kWidth), true, TensorSplit::None, {}, true);
  model.blocks.push_back(start.block("input", 1, false, start.node("relu", relu(), {first})));
  GraphBuilder layer;
  const TensorId x = layer.graph.input = layer.activation("input", {kBatch, whole(kWidth)});
  const TensorId h = layer.node("relu", relu(), {layer.linear("fc", x, whole(kWidth), true)});
  const TensorId part = layer.node("scale", scale(), {h}, {{"numerator", 1}, {"denominator", 3}});
  model.blocks.push_back(layer.block("layers", kStages, true, layer.residual("add", x, part)));
  GraphBuilder end;
  const TensorId last = end.graph.input = end.activation("input", {kBatch, whole(kWidth)});
  model.blocks.push_back(
      end.block("head", 1, false, end.loss(end.linear("fc", last, whole(10), true))));
  return model;
}

struct Outcome {
  double loss = 0, accuracy = 0;
  bool diverged() const { return !std::isfinite(loss) || accuracy < 0.2; }
};

Outcome train(const std::vector<std::string>& settings, const Training& training,
              const DataSource& data) {
  Scenario s{residual_network(), parse_cluster("cpu:" + std::to_string(kStages)), {}};
  for (const char* one : {"precision=fp32", "optimizer=momentum"}) apply_setting(s.plan, one);
  apply_setting(s.plan, "pp=" + std::to_string(kStages));
  for (const std::string& one : settings) apply_setting(s.plan, one);
  const Workload w = prepare(s);
  LowerOptions options;
  options.grain = Grain::Op;
  options.steps = has_updates(order(w, schedule_shape(w))) ? static_cast<int>(training.steps) : 1;
  const Program p = lower(w, options);
  const auto cost = roofline_cost_model();
  const TaskPrices prices = price(p, w.scenario.plan.mesh, w.scenario.cluster, *cost);
  CpuBackend backend({w, p, prices, &training, &data});
  const BackendRun run = backend.run();
  const ModelEvaluation e = evaluate(w, backend.trained(), data, 2000);
  const std::size_t tail = std::min<std::size_t>(100, run.losses.size());
  double loss = 0;
  for (std::size_t i = run.losses.size() - tail; i < run.losses.size(); ++i)
    loss += run.losses[i] / static_cast<double>(tail);
  return {loss, e.accuracy};
}

struct Row {
  std::string name;
  std::vector<std::string> settings;
};

void print_row(const std::string& name, const std::vector<double>& rates, const auto& outcome) {
  fmt::print("  {:<22}", name);
  for (double rate : rates) {
    std::string cell;
    for (std::uint64_t seed : {1u, 2u}) {
      const Outcome o = outcome(rate, seed);
      cell += fmt::format("{}{:.1f}", cell.empty() ? "" : " / ", 100 * o.accuracy);
      if (o.diverged()) cell += "*";
    }
    fmt::print("  {:>14}", cell);
  }
  fmt::print("\n");
  std::fflush(stdout);
}

void head(const std::vector<double>& rates) {
  fmt::print("  {:<22}", "test accuracy, %");
  for (double rate : rates) fmt::print("  {:>14}", fmt::format("rate {}", rate));
  fmt::print("\n");
}

void pipemare(std::int64_t updates, const DataSource& data) {
  const std::vector<double> rates = {0.005, 0.01, 0.02};
  fmt::print("PipeMare: {} stages, batch 16, an update a microbatch, momentum 0.9, {} updates\n",
             kStages, updates);
  head(rates);
  const std::vector<std::string> batch = {"global-batch=16", "micro-batch=16"};
  const Row rows[] = {
      {"synchronous", {"schedule=1f1b"}},
      {"weights stashed", {"schedule=pipedream"}},
      {"asynchronous, plain", {"schedule=pipemare", "pipemare.correct=off"}},
      {"T1 + T2", {"schedule=pipemare", "pipemare.reschedule=" + std::to_string(updates / 2)}},
      {"T1 + T2 + T3",
       {"schedule=pipemare", "pipemare.reschedule=" + std::to_string(updates / 2),
        "pipemare.warmup=100"}},
  };
  for (const Row& row : rows)
    print_row(row.name, rates, [&](double rate, std::uint64_t seed) {
      Training t;
      t.rate = rate;
      t.momentum = 0.9;
      t.steps = updates;
      t.seed = seed;
      t.schedule = RateSchedule::Linear;
      std::vector<std::string> settings = batch;
      settings.insert(settings.end(), row.settings.begin(), row.settings.end());
      return train(settings, t, data);
    });
}

// Momentum and rate for one sample at a time keep the decay a sample and the impulse of the
// reference's batch: m = m_r^(1 / N_r), rate = rate_r (1 - m) / ((1 - m_r) N_r).
void one_by_one(std::int64_t updates, const DataSource& data) {
  const std::vector<double> rates = {0.005, 0.01};
  constexpr double kBatch16 = 16, kMomentum = 0.9;
  const double m = std::pow(kMomentum, 1 / kBatch16);
  fmt::print(
      "Pipelined backpropagation: one sample an update, {} samples; rates of the batch of 16 "
      "they are scaled from (momentum {:.4f})\n",
      updates * 16, m);
  head(rates);
  const Row rows[] = {
      {"synchronous, batch 16", {"schedule=1f1b", "global-batch=16", "micro-batch=16"}},
      {"plain",
       {"schedule=pipelined-backprop", "global-batch=1", "micro-batch=1",
        "pipelined-backprop.compensate=off", "pipelined-backprop.predict=none"}},
      {"SC",
       {"schedule=pipelined-backprop", "global-batch=1", "micro-batch=1",
        "pipelined-backprop.predict=none"}},
      {"SC + LWP, velocity",
       {"schedule=pipelined-backprop", "global-batch=1", "micro-batch=1",
        "pipelined-backprop.predict=velocity"}},
      {"SC + LWP, weight",
       {"schedule=pipelined-backprop", "global-batch=1", "micro-batch=1",
        "pipelined-backprop.predict=weight"}},
  };
  for (const Row& row : rows)
    print_row(row.name, rates, [&](double rate, std::uint64_t seed) {
      const bool batched = row.settings[0] == "schedule=1f1b";
      Training t;
      t.momentum = batched ? kMomentum : m;
      t.rate = batched ? rate : rate * (1 - m) / ((1 - kMomentum) * kBatch16);
      t.steps = batched ? updates : updates * 16;
      t.seed = seed;
      return train(row.settings, t, data);
    });
}

}  // namespace
}  // namespace trainyard

int main(int argc, char** argv) {
  using namespace trainyard;
  const std::int64_t updates = argc > 1 ? std::atoll(argv[1]) : 900;
  const std::unique_ptr<DataSource> data = open_data("fashion-mnist", 1);
  const std::string_view which = argc > 2 ? argv[2] : "both";
  if (which != "backprop") pipemare(updates, *data);
  if (which != "pipemare") one_by_one(updates, *data);
  fmt::print("  * diverged\n");
}

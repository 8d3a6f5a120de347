// Trains a scenario on the CPU backend, with data and initial weights that other executors can be
// given too.
#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "backends/cpu/cpu_backend.h"
#include "backends/reference/reference_machine.h"
#include "backends/simulator/simulator.h"
#include "core/base/random.h"
#include "core/model/ops.h"
#include "tests/support/layers.h"
#include "tests/support/non_empty.h"

namespace trainyard::testing {

/// A data source of numbers in [-1, 1) and of indices below the limit of what reads them, as
/// functions of tensor and sample.
class SampleNumbers final : public DataSource {
 public:
  std::string_view name() const override { return "numbers"; }
  std::string provenance() const override { return "made by the test"; }
  std::int64_t samples() const override { return 1 << 20; }
  std::int64_t evaluation_samples() const override { return 8; }
  Diagnostics check(const Model&) const override { return {}; }
  void fill(const DataRequest& r, std::span<float> out) const override {
    each(r, [&](std::size_t e, const Random& random, std::uint64_t i) {
      out[e] = static_cast<float>(2 * random.uniform(i) - 1);
    });
  }
  void fill(const DataRequest& r, std::span<std::int64_t> out) const override {
    const std::int64_t limit = index_limit(r.graph, r.tensor);
    each(r, [&](std::size_t e, const Random& random, std::uint64_t i) {
      out[e] = random.between(i, 0, limit - 1);
    });
  }

 private:
  static std::int64_t index_limit(const Graph& graph, TensorId tensor) {
    for (const Node& node : graph.nodes) {
      if (const auto rows = table_rows(graph, node); rows && node.inputs[0] == tensor)
        return rows->size;
      if (node.op->name == "softmax_loss" && node.inputs[1] == tensor)
        return std::max<std::int64_t>(2, graph[node.inputs[0]].shape.back().size);
    }
    return 2;
  }
  // Calls f(element, random numbers of its sample, index of the number within the sample).
  template <class F>
  static void each(const DataRequest& r, F&& f) {
    const Shape& shape = r.graph[r.tensor].shape;
    std::size_t batch = shape.size();
    for (std::size_t d = 0; d < shape.size(); ++d)
      if (shape[d].axis == Axis::Batch) batch = d;
    std::int64_t outer = 1, inner = 1, size = 1;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      if (d == batch)
        size = r.shape[d];
      else
        (d < batch ? outer : inner) *= r.shape[d];
    }
    std::size_t e = 0;
    // The dimension before the batch is the sequence, where a model has one.
    for (std::int64_t o = r.first_token; o < r.first_token + outer; ++o)
      for (std::int64_t b = 0; b < size; ++b)
        for (std::int64_t i = 0; i < inner; ++i) {
          const Random random(r.tensor.value + 1, static_cast<std::uint64_t>(r.first_sample + b));
          f(e++, random, static_cast<std::uint64_t>(o * inner + i));
        }
  }
};

struct CpuRun {
  Workload workload;
  Program program;
  BackendRun run;
  std::vector<TrainedTensor> initial, parameters, statistics;
};

inline CpuRun train_on_cpu(const Scenario& scenario, const Training& training,
                           CpuOptions options = {}, const DataSource& source = SampleNumbers()) {
  CpuRun made;
  made.workload = prepare(scenario);
  LowerOptions lowering;
  lowering.grain = Grain::Op;
  lowering.steps = has_updates(order(made.workload, schedule_shape(made.workload)))
                       ? static_cast<int>(training.steps)
                       : 1;
  made.program = lower(made.workload, lowering);
  const Scenario& s = made.workload.scenario;
  const auto cost = roofline_cost_model();
  const TaskPrices prices = price(made.program, s.plan.mesh, s.cluster, *cost);
  options.poison = true;
  CpuBackend backend({made.workload, made.program, prices, &training, &source}, options);
  made.initial = backend.parameters();
  made.run = backend.run();
  made.parameters = backend.parameters();
  made.statistics = backend.statistics();
  return made;
}

inline CpuRun train_on_cpu(const Model& model, std::int64_t devices, const Settings& settings,
                           const Training& training, CpuOptions options = {},
                           const DataSource& source = SampleNumbers()) {
  Settings all = {"precision=fp32"};  // unless the test says otherwise
  all.insert(all.end(), settings.begin(), settings.end());
  return train_on_cpu(scenario(model, devices, all, "cpu"), training, std::move(options), source);
}

/// The largest difference between numbers of two runs, relative to the largest number.
inline double apart(const std::vector<TrainedTensor>& a, const std::vector<TrainedTensor>& b) {
  EXPECT_EQ(a.size(), b.size());
  double worst = 0, most = 0;
  for (std::size_t t = 0; t < a.size(); ++t)
    for (std::size_t i = 0; i < a[t].values.size(); ++i) {
      const double one = a[t].values[i], other = b[t].values[i];
      worst = std::isnan(one) ? INFINITY : std::max(worst, std::abs(one - other));
      most = std::max(most, std::abs(other));
    }
  return most > 0 ? worst / most : 0;
}

/// Expects the run to have the losses of another within 1e-5 of each, and its parameters within
/// `most_apart`. The run may have more: the last stage's copy of a table.
inline void expect_same_training(const CpuRun& run, const CpuRun& wanted, double most_apart) {
  ASSERT_EQ(run.run.losses.size(), wanted.run.losses.size());
  for (std::size_t i = 0; i < wanted.run.losses.size(); ++i)
    EXPECT_NEAR(run.run.losses[i], wanted.run.losses[i], 1e-5 * std::abs(wanted.run.losses[i]))
        << "step " << i;
  for (const TrainedTensor& one : non_empty(wanted.parameters)) {
    const auto found = std::find_if(
        run.parameters.begin(), run.parameters.end(),
        [&](const TrainedTensor& t) { return t.layer == one.layer && t.name == one.name; });
    ASSERT_TRUE(found != run.parameters.end() && found->values.size() == one.values.size())
        << one.name;
    for (std::size_t e = 0; e < one.values.size(); ++e)
      ASSERT_NEAR(found->values[e], one.values[e], most_apart)
          << one.name << " of layer " << one.layer;
  }
}

/// Makes the reference start from the same weights and see the same samples. The run must outlive
/// the options.
inline void start_as(const CpuRun& run, ReferenceOptions& options) {
  options.weights = [&run](ReferenceParameter& p) {
    for (const TrainedTensor& t : run.initial)
      if (t.layer == p.layer && t.name == p.name)
        p.weights.values.assign(t.values.begin(), t.values.end());
  };
  options.data = [&s = run.workload.scenario](const ReferenceInput& in) {
    HostTensor made = zeros(in.shape);
    const DataRequest request{s.model, in.graph, in.tensor, in.shape,
                              in.microbatch * s.plan.batch.micro};
    const auto fill = [&](auto number) {
      std::vector<decltype(number)> numbers(made.values.size());
      SampleNumbers().fill(request, numbers);
      made.values.assign(numbers.begin(), numbers.end());
    };
    if (in.graph[in.tensor].kind == TensorKind::Index)
      fill(std::int64_t{});
    else
      fill(float{});
    return made;
  };
}

/// How far a measured peak may be from the one that its own timeline tells, because at one instant
/// a message may be taken before another is handed on or after it.
inline double largest_message(const Program& program) {
  Bytes largest{};
  for (const Buffer& buffer : program.buffers)
    if (buffer.holds == Holds::Message) largest = std::max(largest, buffer.bytes);
  return static_cast<double>(largest.value);
}

}  // namespace trainyard::testing

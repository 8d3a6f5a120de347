// Real runs that are watched by rules, on samples from which a model can learn, with faults planted
// in the samples or in the initial weights.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/rules/rule_run.h"
#include "tests/support/cpu_training.h"

namespace trainyard::testing {

/// Samples of classes: numbers around a centre for each class, with the class as label, and texts
/// in which every token is the one before plus one.
class TaughtSamples final : public DataSource {
 public:
  struct Faults {
    double shuffled = 0;  // share of labels that say nothing of their samples
    double evaluation_shuffled = 0;
    double first_class = 0;  // share of samples of class 0 beside their own share
    float offset = 0;        // added to numbers
    double padding = 0;      // share of the tokens of texts that are token 0 in place of their own
  };
  TaughtSamples() = default;
  explicit TaughtSamples(const Faults& faults) : faults_(faults) {}
  std::string_view name() const override { return "taught"; }
  std::string provenance() const override { return "made by the test"; }
  std::int64_t samples() const override { return 1 << 20; }
  std::int64_t evaluation_samples() const override { return 200; }
  Diagnostics check(const Model&) const override { return {}; }
  void fill(const DataRequest& r, std::span<float> out) const override {
    const std::int64_t classes = classes_of(r.model);
    each(r, [&](std::size_t e, std::int64_t sample, std::int64_t i, std::int64_t) {
      const Random centre(11, static_cast<std::uint64_t>(class_of(sample, classes)));
      const Random noise(12, static_cast<std::uint64_t>(sample));
      const auto at = static_cast<std::uint64_t>(i);
      out[e] = static_cast<float>(2 * (centre.uniform(at) - 0.5) + (noise.uniform(at) - 0.5)) +
               faults_.offset;
    });
  }
  void fill(const DataRequest& r, std::span<std::int64_t> out) const override {
    const bool text = r.graph[r.tensor].shape.size() > 1;
    const std::int64_t limit = classes_of(r.model), next = is_label(r) ? 1 : 0;
    each(r, [&](std::size_t e, std::int64_t sample, std::int64_t, std::int64_t position) {
      const Random random(13, static_cast<std::uint64_t>(sample));
      const double shuffled = r.evaluation ? faults_.evaluation_shuffled : faults_.shuffled;
      const auto at = static_cast<std::uint64_t>(position);
      out[e] = text && random.uniform(100 + at) < faults_.padding ? 0
               : text ? (random.between(0, 0, limit - 1) + position + next) % limit
               : random.uniform(1) < shuffled ? random.between(2, 0, limit - 1)
                                              : class_of(sample, limit);
    });
  }

 private:
  static bool is_label(const DataRequest& r) {
    return std::any_of(r.graph.nodes.begin(), r.graph.nodes.end(), [&](const Node& node) {
      return node.op->name == "softmax_loss" && node.inputs[1] == r.tensor;
    });
  }
  static std::int64_t classes_of(const Model& model) {
    for (const Node& node : model.blocks.back().graph.nodes)
      if (node.op->name == "softmax_loss")
        return model.blocks.back().graph[node.inputs[0]].shape.back().size;
    return 2;
  }
  std::int64_t class_of(std::int64_t sample, std::int64_t classes) const {
    const Random random(14, static_cast<std::uint64_t>(sample));
    return random.uniform(0) < faults_.first_class ? 0 : random.between(1, 0, classes - 1);
  }
  // Calls f(element, sample, number within the sample, position of a token).
  template <class F>
  static void each(const DataRequest& r, F&& f) {
    const Shape& shape = r.graph[r.tensor].shape;
    std::size_t batch = 0;
    while (batch < shape.size() && shape[batch].axis != Axis::Batch) ++batch;
    std::int64_t outer = 1, inner = 1;
    for (std::size_t d = 0; d < shape.size(); ++d)
      if (d != batch) (d < batch ? outer : inner) *= r.shape[d];
    std::size_t e = 0;
    for (std::int64_t o = 0; o < outer; ++o)
      for (std::int64_t b = 0; b < r.shape[batch]; ++b)
        for (std::int64_t i = 0; i < inner; ++i)
          f(e++, r.first_sample + b + (r.evaluation ? 1 << 24 : 0), i, r.first_token + o);
  }

  Faults faults_;
};

struct Watched {
  std::string rules;
  std::int64_t interval = 10;
  bool stops = false;
  /// Changes the initial weights; empty: they stay as they are.
  std::function<void(TrainedTensor&)> plant = {};
  CpuOptions options = {};
  std::vector<double> earlier = {};  // losses of the run with which it is compared
};

/// A run in virtual time of which rules have seen every step of the interval.
inline BackendRun watched_run(const Model& model, std::int64_t devices, const Settings& settings,
                              const Training& training, const Watched& how,
                              const DataSource& source = TaughtSamples()) {
  Settings all = {"precision=fp32", "global-batch=64"};
  all.insert(all.end(), settings.begin(), settings.end());
  const Workload workload = prepare(scenario(model, devices, all, "cpu"));
  LowerOptions lowering;
  lowering.grain = Grain::Op;
  lowering.steps =
      has_updates(order(workload, schedule_shape(workload))) ? static_cast<int>(training.steps) : 1;
  const Program program = lower(workload, lowering);
  const Scenario& s = workload.scenario;
  const auto cost = roofline_cost_model();
  const TaskPrices prices = price(program, s.plan.mesh, s.cluster, *cost);
  CpuOptions options = how.options;
  options.rules = std::make_shared<RuleRun>(
      RuleWatch{parse_rules(how.rules), how.interval, how.stops, how.earlier});
  CpuBackend backend({workload, program, prices, &training, &source}, options);
  if (how.plant) {
    std::vector<TrainedTensor> tensors = backend.parameters();
    for (TrainedTensor& one : tensors) how.plant(one);
    backend.set_parameters(tensors);
  }
  return backend.run();
}

/// "dead-relu: step 10: ...", a line each.
inline std::string fired_text(const std::vector<FiredRule>& fired) {
  std::string text;
  for (const FiredRule& one : fired) text += one.rule + ": " + one.sentence + "\n";
  return text;
}

}  // namespace trainyard::testing

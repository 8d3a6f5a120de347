// One step of one replica alone, by which tests follow replicas that keep something of their own.
#pragma once

#include <string>
#include <vector>

#include "tests/support/cpu_training.h"

namespace trainyard::testing {

// The samples of a source from a later one on.
class LaterSamples final : public DataSource {
 public:
  explicit LaterSamples(std::int64_t first) : first_(first) {}
  void begin_at(std::int64_t first) { first_ = first; }
  std::string_view name() const override { return all_.name(); }
  std::string provenance() const override { return all_.provenance(); }
  std::int64_t samples() const override { return all_.samples(); }
  std::int64_t evaluation_samples() const override { return all_.evaluation_samples(); }
  Diagnostics check(const Model&) const override { return {}; }
  void fill(const DataRequest& r, std::span<float> out) const override { all_.fill(later(r), out); }
  void fill(const DataRequest& r, std::span<std::int64_t> out) const override {
    all_.fill(later(r), out);
  }

 private:
  DataRequest later(DataRequest r) const {
    return {r.model, r.graph, r.tensor, r.shape, r.first_sample + first_};
  }
  testing::SampleNumbers all_;
  std::int64_t first_;
};

using Tensors = std::vector<TrainedTensor>;

/// Returns the weights after one step of gradient descent by one replica, from these weights on.
inline Tensors step_alone(const Model& model, const Training& training, std::int64_t samples,
                          std::int64_t first, const Tensors& from) {
  const Scenario s = scenario(model, 1,
                              {"precision=fp32", "micro-batch=1", "optimizer=sgd",
                               "global-batch=" + std::string(samples == 2 ? "2" : "4")},
                              "cpu");
  const Workload w = prepare(s);
  LowerOptions lowering;
  lowering.grain = Grain::Op;
  const Program program = lower(w, lowering);
  const auto cost = roofline_cost_model();
  const TaskPrices prices = price(program, w.scenario.plan.mesh, w.scenario.cluster, *cost);
  Training one = training;
  one.steps = 1;
  const LaterSamples source(first);
  CpuBackend backend({w, program, prices, &one, &source}, {});
  if (!from.empty()) backend.set_parameters(from);
  backend.run();
  return backend.parameters();
}

}  // namespace trainyard::testing

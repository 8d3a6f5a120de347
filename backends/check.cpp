#include "backends/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "backends/reference/reference_backend.h"
#include "backends/simulator/simulator.h"
#include "core/base/error.h"
#include "core/cost/cost_model.h"

namespace trainyard {
namespace {

using CheckKey = std::pair<int, std::string>;

UpdateRule rule_of(const Workload& w, const Training& t) {
  const std::string& optimizer = w.scenario.plan.optimizer;
  const bool plain = t.schedule == RateSchedule::Constant && t.warmup == 0 && t.weight_decay == 0 &&
                     t.clip == 0 && !t.nesterov;
  if ((optimizer != "sgd" && optimizer != "momentum") || !plain)
    throw Error(Error::Kind::InvalidInput,
                "the reference trains by sgd or momentum at a constant rate, without decay or "
                "clipping, found " +
                    optimizer + (plain ? "" : " with more"),
                {"plan#/optimizer"});
  UpdateRule rule;
  rule.rate = t.rate;
  rule.momentum = optimizer == "momentum" ? t.momentum : 0;
  return rule;
}

HostTensor fetch(const Workload& w, const DataSource& source, const ReferenceInput& in) {
  const DataRequest request{.model = w.scenario.model,
                            .graph = in.graph,
                            .tensor = in.tensor,
                            .shape = in.shape,
                            .first_sample = in.microbatch * w.layout.binding.micro_batch};
  HostTensor made = zeros(in.shape);
  if (in.graph[in.tensor].kind == TensorKind::Index) {
    std::vector<std::int64_t> ids(made.values.size());
    source.fill(request, std::span<std::int64_t>(ids));
    std::copy(ids.begin(), ids.end(), made.values.begin());
  } else {
    std::vector<float> values(made.values.size());
    source.fill(request, std::span<float>(values));
    std::copy(values.begin(), values.end(), made.values.begin());
  }
  return made;
}

void compare_losses(CheckReport& report, double tolerance) {
  for (std::size_t i = 0; i < std::max(report.reference.size(), report.found.size()); ++i) {
    if (i >= report.reference.size() || i >= report.found.size()) {
      if (report.difference.empty())
        report.difference = fmt::format("expected {} losses, found {}", report.reference.size(),
                                        report.found.size());
      return;
    }
    const double expected = report.reference[i], found = report.found[i];
    const double apart = std::abs(found - expected) / std::max(std::abs(expected), 1e-30);
    report.worst_loss = std::max(report.worst_loss, apart);
    if (!(apart <= tolerance) && report.difference.empty())
      report.difference =
          fmt::format("loss of step {}: expected {:.9g}, found {:.9g}", i + 1, expected, found);
  }
}

void compare_parameters(CheckReport& report, const std::vector<ReferenceParameter>& reference,
                        const std::vector<TrainedTensor>& found, double tolerance) {
  std::map<CheckKey, const ReferenceParameter*> expected;
  for (const ReferenceParameter& p : reference) expected.try_emplace({p.layer, p.name}, &p);
  for (const TrainedTensor& tensor : found) {
    const auto same = expected.find({tensor.layer, tensor.name});
    if (same == expected.end()) continue;  // shares its storage with one that is there
    const std::vector<double>& values = same->second->weights.values;
    double most = 0, apart = 0;
    for (std::size_t i = 0; i < std::min(values.size(), tensor.values.size()); ++i) {
      most = std::max(most, std::abs(values[i]));
      const double here = std::abs(values[i] - static_cast<double>(tensor.values[i]));
      apart = here <= apart ? apart : here;  // not a number counts
    }
    const double share = most > 0 ? apart / most : apart;
    report.worst_parameter = share <= report.worst_parameter ? report.worst_parameter : share;
    if ((values.size() != tensor.values.size() || !(share <= tolerance)) &&
        report.difference.empty())
      report.difference =
          fmt::format("{} of layer {}: {} numbers up to {:.3g} differ by up to {:.3g}", tensor.name,
                      tensor.layer, values.size(), most, apart);
  }
}

}  // namespace

CheckReport check_backends(const Workload& w, const Training& training, const CpuOptions& options,
                           const DataSource& source, const CheckTolerances& tolerances) {
  const bool asynchronous = has_updates(order(w, schedule_shape(w)));
  const int steps = static_cast<int>(training.steps);
  const Program all = lower(w, {.grain = Grain::Op, .steps = steps});
  const Program one = asynchronous ? all : lower(w, {.grain = Grain::Op});
  const Scenario& scenario = w.scenario;
  const std::unique_ptr<CostModel> cost = roofline_cost_model();
  const TaskPrices prices = price(one, scenario.plan.mesh, scenario.cluster, *cost);

  const UpdateRule rule = rule_of(w, training);
  const ReferenceBackend reference(w, all);
  CpuBackend cpu(w, one, prices, training, options, source);
  std::map<CheckKey, std::vector<float>> initial;
  for (TrainedTensor& tensor : cpu.parameters())
    initial[{tensor.layer, tensor.name}] = std::move(tensor.values);
  ReferenceOptions same;
  same.seed = training.seed;
  same.rules = {rule};
  same.stop = options.stop;
  same.data = [&](const ReferenceInput& in) { return fetch(w, source, in); };
  same.weights = [&](ReferenceParameter& p) {
    const auto found = initial.find({p.layer, p.name});
    if (found == initial.end() || found->second.size() != p.weights.values.size())
      throw Error(Error::Kind::Internal,
                  fmt::format("the CPU backend has no {} of layer {}", p.name, p.layer));
    std::copy(found->second.begin(), found->second.end(), p.weights.values.begin());
  };

  CheckReport report;
  const ReferenceRun expected = reference.run(same);
  report.found = cpu.run().losses;
  report.reference = expected.step_losses;
  compare_losses(report, tolerances.loss);
  compare_parameters(report, expected.parameters, cpu.parameters(), tolerances.parameters);
  return report;
}

}  // namespace trainyard

#include "backends/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace trainyard {
namespace {

using CheckKey = std::pair<int, std::string>;

void compare_losses(CheckReport& report) {
  for (std::size_t i = 0; i < std::max(report.expected.size(), report.found.size()); ++i) {
    if (i >= report.expected.size() || i >= report.found.size()) {
      if (report.difference.empty())
        report.difference = fmt::format("expected {} losses, found {}", report.expected.size(),
                                        report.found.size());
      return;
    }
    const double expected = report.expected[i], found = report.found[i];
    const double apart = std::abs(found - expected) / std::max(std::abs(expected), 1e-30);
    report.worst_loss = apart <= report.worst_loss ? report.worst_loss : apart;
    // Written so that a loss which is not a number differs from every other.
    if (!(apart <= report.tolerances.loss) && report.difference.empty())
      report.difference =
          fmt::format("loss of step {}: expected {:.9g}, found {:.9g}", i + 1, expected, found);
  }
}

double largest(const std::vector<float>& values) {
  double most = 0;
  for (const float value : values) most = std::max(most, std::abs(double{value}));
  return most;
}

// A tensor's distance is a share of the largest parameter of its layer, and not of its own: a bias
// begins at 0 and is the sum of gradients that nearly cancel, so that its roundings are as large as
// itself for a while.
void compare_parameters(CheckReport& report, const std::vector<TrainedTensor>& expected,
                        const std::vector<TrainedTensor>& found) {
  std::map<CheckKey, const TrainedTensor*> by_name;
  std::map<int, double> largest_of_layer;
  for (const TrainedTensor& tensor : expected) {
    by_name.try_emplace({tensor.layer, tensor.name}, &tensor);
    double& most = largest_of_layer[tensor.layer];
    most = std::max(most, largest(tensor.values));
  }
  for (const TrainedTensor& tensor : found) {
    const auto same = by_name.find({tensor.layer, tensor.name});
    if (same == by_name.end()) continue;  // it shares its storage with one that is there
    const std::vector<float>& values = same->second->values;
    double apart = 0;
    for (std::size_t i = 0; i < std::min(values.size(), tensor.values.size()); ++i) {
      const double here = std::abs(double{values[i]} - double{tensor.values[i]});
      apart = here <= apart ? apart : here;  // a difference that is not a number stays
    }
    const double most = largest_of_layer[tensor.layer], share = most > 0 ? apart / most : apart;
    report.worst_parameter = share <= report.worst_parameter ? report.worst_parameter : share;
    const bool differs =
        values.size() != tensor.values.size() || !(share <= report.tolerances.parameters);
    if (differs && report.difference.empty())
      report.difference = fmt::format(
          "{} of layer {}: {} numbers differ by up to {:.3g}, and the largest of the layer is "
          "{:.3g}",
          tensor.name, tensor.layer, values.size(), apart, most);
  }
}

/// The options of one of two runs: its progress is half of the progress of both, from `start` on.
RunOptions half_of(const RunOptions& both, double start) {
  RunOptions half{.stop = both.stop, .progress = {}};
  if (both.progress)
    half.progress = [&both, start](double share) { both.progress(start + share / 2); };
  return half;
}

double rounding(DType type) {
  switch (type) {
    case DType::BF16:
      return 0x1p-8;
    case DType::F16:
      return 0x1p-11;
    default:
      return 0;
  }
}

}  // namespace

CheckTolerances tolerances_of(const Workload& w) {
  const Precision& p = w.layout.precision;
  const double coarsest =
      std::max({rounding(p.parameter), rounding(p.activation), rounding(p.gradient)});
  CheckTolerances tolerances;
  tolerances.loss = std::max(tolerances.loss, 4 * coarsest);
  tolerances.parameters = std::max(tolerances.parameters, 4 * coarsest);
  return tolerances;
}

BackendRun Check::run(const RunOptions& options) {
  report_.reset();
  expected_.set_parameters(checked_.parameters());
  BackendRun run = checked_.run(half_of(options, 0));
  if (run.stopped) return run;
  const BackendRun other = expected_.run(half_of(options, 0.5));
  if (other.stopped) return run;
  CheckReport report;
  report.backend = expected_.name();
  report.expected = other.losses;
  report.found = run.losses;
  report.tolerances = tolerances_;
  compare_losses(report);
  compare_parameters(report, expected_.parameters(), checked_.parameters());
  report_ = std::move(report);
  return run;
}

}  // namespace trainyard

#include "core/validation/calibrate_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <utility>

#include "core/validation/bands.h"
#include "core/validation/cluster_factor.h"

namespace trainyard {
namespace {

constexpr double kUnexplained = 0.1;   // relative error after the fit above which a row is noted
constexpr double kSaysNothing = 0.99;  // share of a prior's spread above which the rows have
                                       // determined nothing

ProfileResidual residual(const std::vector<double>& logs, const std::vector<double>& weights) {
  return {weighted_quantile(logs, weights, 0.5), weighted_quantile(logs, weights, 0.9),
          weighted_quantile(logs, weights, 1)};
}

// Returns the factor of the rows that count, where they are so few that they support no more.
std::optional<StepFactor> factor_of_few(const RowSet& set, const std::vector<double>& weights,
                                        const std::vector<double>& before) {
  std::vector<double> errors;
  bool routed = false;
  for (std::size_t i = 0; i < set.rows.size(); ++i) {
    if (!(weights[i] > 0)) continue;
    if (set.rows[i].metric != RowMetric::StepTime) return std::nullopt;
    errors.push_back(before[i]);
    routed |= set.rows[i].routed;
  }
  if (errors.size() > kFactorRows) return std::nullopt;
  return cluster_factor(errors, error_spread(validated_rows().rows(), routed));
}

std::string factor_words(const StepFactor& steps) {
  return fmt::format(
      "steps are taken to last {:.3g} times as long as predicted, and their bands are {:.0f} % as "
      "wide: so few rows say one factor, drawn towards 1 by how far published clusters are apart",
      steps.factor, 100 * steps.narrowing);
}

}  // namespace

ParameterProfile calibrate_to_rows(const RowSet& set, const std::string& name, int threads) {
  const RowFit own(set);
  std::vector<double> weights, before;
  std::set<std::string> groups, devices;
  int count = 0;
  for (std::size_t i = 0; i < own.rows.size(); ++i) {
    weights.push_back(own.rows[i].weight);
    if (!(own.rows[i].weight > 0)) continue;
    ++count;
    groups.insert(set.rows[i].row.group);
    devices.insert(set.rows[i].workload.scenario.cluster.device.id);
  }
  if (count == 0)
    throw Error(Error::Kind::InvalidInput,
                fmt::format("expected at least one row that can be predicted and that counts "
                            "(trust A or B), found {} rows of which {} are skipped",
                            set.rows.size() + set.skipped.size(), set.skipped.size()),
                {name});
  ParameterProfile profile;
  for (std::size_t i = 0; i < own.rows.size(); ++i)
    before.push_back(std::log(own.predict(i, profile.shipped) / own.rows[i].measured));
  profile.rows = fmt::format("{}: {} row{} in {} group{}", name, count, count == 1 ? "" : "s",
                             groups.size(), groups.size() == 1 ? "" : "s");
  profile.devices.assign(devices.begin(), devices.end());
  profile.before = residual(before, weights);
  const auto note = [&](const std::vector<double>& log_errors) {
    profile.after = residual(log_errors, weights);
    for (std::size_t i = 0; i < own.rows.size(); ++i)
      if (own.rows[i].weight > 0 && std::abs(std::expm1(log_errors[i])) > kUnexplained)
        profile.notes.push_back(fmt::format("{} stays {:+.1f} % off", set.rows[i].row.id,
                                            100 * std::expm1(log_errors[i])));
  };
  if (const std::optional<StepFactor> steps = factor_of_few(set, weights, before)) {
    profile.steps = steps;
    profile.notes.push_back(factor_words(*steps));
    for (double& error : before) error += std::log(steps->factor);
    note(before);
    return profile;
  }
  const FitOptions options = calibration_options(profile.shipped, threads);
  const FitResult found = fit(own.rows, own.predict, profile.shipped, options);
  profile.parameters = found.parameters;
  std::size_t free = 0;
  for (const ParameterInfo& row : parameter_table()) {
    if (row.fitted_on.empty()) continue;
    const double sure = std::min(1.0, found.determined[free++]);
    profile.determined[static_cast<std::size_t>(row.parameter)] = sure;
    // A parameter on which no row depends keeps exactly the shipped digits.
    if (sure > kSaysNothing) profile.parameters[row.parameter] = profile.shipped[row.parameter];
  }
  note(found.log_errors);
  return profile;
}

}  // namespace trainyard

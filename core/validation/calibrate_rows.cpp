#include "core/validation/calibrate_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

namespace trainyard {
namespace {

constexpr double kUnexplained = 0.1;   // relative error after the fit above which a row is noted
constexpr double kSaysNothing = 0.99;  // share of a prior's spread above which the rows have
                                       // determined nothing

ProfileResidual residual(const std::vector<double>& logs, const std::vector<double>& weights) {
  return {weighted_quantile(logs, weights, 0.5), weighted_quantile(logs, weights, 0.9),
          weighted_quantile(logs, weights, 1)};
}

}  // namespace

ParameterProfile calibrate_to_rows(const RowSet& set, const std::string& name, int threads) {
  const RowFit own(set);
  std::vector<double> weights, before;
  std::set<std::string> groups;
  int count = 0;
  for (std::size_t i = 0; i < own.rows.size(); ++i) {
    weights.push_back(own.rows[i].weight);
    if (!(own.rows[i].weight > 0)) continue;
    ++count;
    groups.insert(set.rows[i].row.group);
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
  const FitOptions options = calibration_options(profile.shipped, threads);
  const FitResult found = fit(own.rows, own.predict, profile.shipped, options);
  profile.rows = fmt::format("{}: {} row{} in {} group{}", name, count, count == 1 ? "" : "s",
                             groups.size(), groups.size() == 1 ? "" : "s");
  profile.parameters = found.parameters;
  profile.before = residual(before, weights);
  profile.after = residual(found.log_errors, weights);
  std::size_t free = 0;
  for (const ParameterInfo& row : parameter_table()) {
    if (row.fitted_on.empty()) continue;
    const double sure = std::min(1.0, found.determined[free++]);
    profile.determined[static_cast<std::size_t>(row.parameter)] = sure;
    // A parameter on which no row depends keeps exactly the shipped digits.
    if (sure > kSaysNothing) profile.parameters[row.parameter] = profile.shipped[row.parameter];
  }
  for (std::size_t i = 0; i < own.rows.size(); ++i)
    if (own.rows[i].weight > 0 && std::abs(std::expm1(found.log_errors[i])) > kUnexplained)
      profile.notes.push_back(fmt::format("{} stays {:+.1f} % off", set.rows[i].row.id,
                                          100 * std::expm1(found.log_errors[i])));
  return profile;
}

}  // namespace trainyard

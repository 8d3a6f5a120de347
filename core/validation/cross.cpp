#include "core/validation/cross.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "core/validation/least_squares.h"

namespace trainyard {
namespace {

constexpr double kLooser = 1.0;     // spreads of a calibration, as a factor on the priors'
constexpr double kNoise = 0.03;     // of one row of it: repeated runs differ by some hundredths
constexpr std::size_t kFewest = 6;  // least rows of a source from which three may be taken

bool is_memory(const PreparedRow& row) {
  return row.metric == RowMetric::Memory || row.metric == RowMetric::MemoryTotal;
}

bool is_time(const PreparedRow& row) { return row.tunable && row.metric == RowMetric::StepTime; }

}  // namespace

RowFit::RowFit(const RowSet& set) {
  std::set<std::string> names;
  std::map<std::pair<bool, std::string>, int> groups;
  for (const PreparedRow& row : set.rows) {
    names.insert(row.row.source_family);
    if (row.tunable) ++groups[{is_memory(row), row.row.group}];
  }
  sources.assign(names.begin(), names.end());
  for (const PreparedRow& row : set.rows) {
    const auto source = std::lower_bound(sources.begin(), sources.end(), row.row.source_family);
    rows.push_back({row.measured, row.tunable ? 1.0 / groups[{is_memory(row), row.row.group}] : 0.0,
                    static_cast<int>(source - sources.begin())});
  }
  predict = [&set](std::size_t i, const Parameters& p) {
    return trainyard::predict(set.rows[i], p);
  };
}

FitOptions calibration_options(const Parameters& prior, int threads) {
  FitOptions options;
  options.prior = prior;
  options.spread = kLooser;
  options.noise = kNoise;
  options.threads = threads;
  return options;
}

std::optional<std::array<std::size_t, 3>> three_rows(const RowSet& set, const std::string& source) {
  std::map<std::string, std::vector<std::size_t>> groups;
  std::vector<std::size_t> all;
  for (std::size_t i = 0; i < set.rows.size(); ++i) {
    if (!is_time(set.rows[i]) || set.rows[i].row.source_family != source) continue;
    groups[set.rows[i].row.group].push_back(i);
    all.push_back(i);
  }
  if (all.size() < kFewest) return std::nullopt;
  const auto by_time = [&](std::size_t a, std::size_t b) {
    return set.rows[a].measured < set.rows[b].measured;
  };
  std::stable_sort(all.begin(), all.end(), by_time);
  if (groups.size() < 3)
    return std::array{all[all.size() / 6], all[all.size() / 2], all[all.size() * 5 / 6]};
  std::vector<std::size_t> middles;
  for (auto& [name, rows] : groups) {
    std::stable_sort(rows.begin(), rows.end(), by_time);
    middles.push_back(rows[rows.size() / 2]);
  }
  return std::array{middles.front(), middles[middles.size() / 2], middles.back()};
}

CrossReport cross_validate_rows(const RowSet& set, const Parameters& start, int threads) {
  const RowFit all(set);
  FitOptions options;
  options.threads = threads;
  CrossResult cross = cross_validate(all.rows, all.predict, start, options);
  CrossReport report{std::move(cross.all), std::move(cross.log_errors), {}};
  report.calibrated.resize(set.rows.size());
  for_each_index(all.sources.size(), threads, [&](std::size_t source) {
    const auto three = three_rows(set, all.sources[source]);
    if (!three) return;
    std::vector<FitRow> rows;
    for (const std::size_t i : *three) rows.push_back({all.rows[i].measured, 1, 0});
    const Predict predict = [&](std::size_t i, const Parameters& p) {
      return all.predict((*three)[i], p);
    };
    const Parameters& prior = cross.without[source];
    const FitResult own = fit(rows, predict, prior, calibration_options(prior, 1));
    for (std::size_t i = 0; i < set.rows.size(); ++i)
      if (all.rows[i].source == static_cast<int>(source) && is_time(set.rows[i]) &&
          std::find(three->begin(), three->end(), i) == three->end())
        report.calibrated[i] = std::log(all.predict(i, own.parameters) / set.rows[i].measured);
  });
  return report;
}

}  // namespace trainyard

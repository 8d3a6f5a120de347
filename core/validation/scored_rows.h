// ScoredRows are rows as the tables of a validation need them: what was measured, what was
// predicted, and in which groups a row counts. A few dozen bytes each, because a table of one's own
// measurements may have millions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/validation/rows/prepared_row.h"

namespace trainyard {

/// A prediction with its band, in the unit of what was measured.
struct PredictedValue {
  double predicted = 0, low = 0, high = 0;
  double error = 0;  // predicted / measured - 1
};

struct ScoredRow : PredictedValue {
  double measured = 0;
  std::uint32_t group = 0, source = 0;  // indices into the names
  bool memory = false, step = false;    // bytes, or seconds of a step (neither: of a layer)
  bool tunable = false, routed = false, stated = false;
  bool trusted = false, suspect = false;  // trust A or B
};

/// A Score is for one metric, source or set; groups are weighted equally.
struct Score {
  std::string metric;  // "time", "memory"
  std::string name;    // "trust A and B, clean", "foundry"
  int rows = 0, groups = 0;
  double mean = 0, median = 0, p90 = 0, max = 0, inside_band = 0;  // shares
  double bias = 0;  // mean logarithm of predicted over measured, as a share
};

class ScoredRows {
 public:
  void add(const PreparedRow&, const PredictedValue&);
  std::size_t size() const { return rows_.size(); }

  /// Scores the rows with these indices by their relative errors. The caller selects the rows.
  Score score_of(std::string metric, std::string name,
                 const std::vector<std::uint32_t>& which) const;
  /// Return the scores of the usual sets of rows: by metric and kind, and by source.
  std::vector<Score> metric_scores() const;
  std::vector<Score> source_scores() const;
  /// Kendall's tau of step times, mean over groups.
  std::optional<double> mean_kendall() const;
  /// Returns the mean half-width of the bands of the times that count, as a share of the value,
  /// groups weighted equally.
  double mean_half_width() const;

 private:
  struct Names {
    std::vector<std::string> names;
    std::unordered_map<std::string, std::uint32_t> places;
    std::uint32_t place(const std::string& name);
  };
  template <class Filter>
  std::vector<std::uint32_t> chosen(const Filter&) const;
  std::vector<double> group_weights(const std::vector<std::uint32_t>& which) const;

  std::vector<ScoredRow> rows_;
  Names groups_, sources_;
};

}  // namespace trainyard

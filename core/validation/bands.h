// How far a prediction may be off: the errors of the published rows that are most like it, each
// predicted without its own source. And whether anything like it was ever published.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/cost/cost_model.h"
#include "core/result/result.h"
#include "core/validation/features.h"

namespace trainyard {

/// A row that a prediction was held against.
struct ValidatedRow {
  std::string id, group, source;
  RunFeatures features;
  double log_error = 0;  // of the cross-validated prediction: predicted over measured
  bool memory = false;
  bool routed = false;
  std::vector<std::string> parts;  // as parts_of(), sorted
  friend bool operator==(const ValidatedRow&, const ValidatedRow&) = default;
};
/// As CSV (assets/validation/residuals.csv); read_residuals gives equal rows back, up to the digits
/// that are written. Throws Error{InvalidInput} at "SOURCE:LINE".
std::string write_residuals(const std::vector<ValidatedRow>&);
std::vector<ValidatedRow> read_residuals(std::string_view csv, const std::string& source);

/// Rows of a kind are held against their bands together.
enum class RowKind : std::uint8_t { Dense, Routed, Memory };
std::string_view to_string(RowKind);  // "dense models", "routed experts", "memory"

/// How rows of a kind did, each held against the band that its neighbours of other sources give.
struct KindCheck {
  int rows = 0, groups = 0, sources = 0;
  double held = 0;         // share of the rows inside, groups weighted equally
  double stretch = 1;      // factor on the logarithmic width of the kind's bands that follows
  bool validated = false;  // enough groups, and nearly the promised share inside
};

struct Band {
  double low = 0, high = 0;  // shares of the value, low <= 0 <= high
  RowKind kind = RowKind::Dense;
  int near = 0;                  // rows that it is drawn from
  double near_held = 0;          // share of them inside their own band, by nearness
  double stretch = 1;            // factor on its logarithmic width where too few rows are inside
  bool validated = false;        // by these rows and by those of its kind
  std::string basis;             // "90 % of ... lie within"
  std::vector<NearRow> nearest;  // nearest first, at most five
  bool outside = false;          // farther from all rows than rows are from each other
  std::vector<std::string> unchecked;  // parts of the plan that no row has: "expert parallel"
};

/// Rows to draw bands from, with what has to be known of all of them: how far rows are from those
/// of other sources, and by how much the neighbours' errors must be widened so that 9 of 10 rows
/// lie within the band that the other sources give (normalised conformal prediction:
/// Papadopoulos, Gammerman and Vovk 2008).
class ValidatedRows {
 public:
  explicit ValidatedRows(std::vector<ValidatedRow>);
  const std::vector<ValidatedRow>& rows() const { return rows_; }
  /// `without`: rows of this source are not there. Where there is no row at all nothing is near and
  /// the band is empty.
  Band band(const RunFeatures&, const std::vector<std::string>& parts, bool memory,
            const std::string& without = "") const;
  const KindCheck& check(RowKind kind) const { return checks_[static_cast<std::size_t>(kind)]; }

 private:
  struct Scope {
    double typical = 0;  // median error of all
    double shrink = 1;  // how far the neighbours' error is drawn towards it: what makes bands least
    double widen = 1;   // of the neighbours' errors
    double farthest = 0;  // that all but a few rows are from the next row of another source
  };
  struct Near;
  std::vector<Near> near(const RunFeatures&, bool memory, const std::string& without) const;
  double spread(const std::vector<Near>&, const Scope&) const;
  double half_width(const std::vector<Near>&, const Scope&) const;
  // `others`: by row, its neighbours of other sources.
  Scope measure(bool memory, const std::vector<std::vector<Near>>& others) const;
  KindCheck measure(RowKind) const;
  void hold_against_near(Band&, const std::vector<Near>&) const;

  std::vector<ValidatedRow> rows_;
  std::vector<double> weights_;  // 1 / rows of the group
  Scope scopes_[2];              // of time, of memory
  std::vector<double> scores_;   // error over the half-width that rows of other sources give
  KindCheck checks_[3];          // by kind
};

/// Those that ship, made by `trainyard validate --cross --residuals`.
const ValidatedRows& validated_rows();

/// Bands of a run among the rows that ship. blanks: settings that are not stated and that matter.
Band time_band(const Workload&, const StepEstimate&, int blanks = 0);
Band memory_band(const Workload&, const StepEstimate&, int blanks = 0);

/// Puts both bands on a result of this workload: step, energy, money, peaks, the verdict's word,
/// what is near, what is outside and what no row has checked. A cost model that was measured on the
/// very machine keeps its own band of time.
void state_bands(Result&, const Workload&, const CostModel&);

}  // namespace trainyard

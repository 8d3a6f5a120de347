// This file computes how far a prediction may be off, from the errors of the published rows that
// are most similar to it, each predicted without its own source. It also says whether anything
// similar was ever published.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/cost/cost_model.h"
#include "core/result/result.h"
#include "core/validation/features.h"

namespace trainyard {

/// A ValidatedRow is a row with which a prediction was compared.
struct ValidatedRow {
  std::string id, group, source;
  RunFeatures features;
  double log_error = 0;  // of the cross-validated prediction: logarithm of predicted over measured
  bool memory = false;
  bool routed = false;
  std::vector<std::string> parts;  // as given by parts_of(), sorted
  friend bool operator==(const ValidatedRow&, const ValidatedRow&) = default;
};
/// These write and read CSV (assets/validation/residuals.csv); read_residuals() returns equal rows
/// up to the digits that are written. Throws Error{InvalidInput} at "SOURCE:LINE".
std::string write_residuals(const std::vector<ValidatedRow>&);
std::vector<ValidatedRow> read_residuals(std::string_view csv, const std::string& source);

/// Rows of one kind are checked against their bands together.
enum class RowKind : std::uint8_t { Dense, Routed, Memory };
std::string_view to_string(RowKind);  // "dense models", "routed experts", "memory"

/// A KindCheck says how the rows of a kind did, each compared with the band that its neighbours of
/// other sources give.
struct KindCheck {
  int rows = 0, groups = 0, sources = 0;
  double held = 0;         // share of the rows inside their bands, groups weighted equally
  double stretch = 1;      // resulting factor on the logarithmic width of the kind's bands
  bool validated = false;  // there are enough groups, and nearly the promised share is inside
};

struct Band {
  double low = 0, high = 0;  // shares of the value, low <= 0 <= high
  RowKind kind = RowKind::Dense;
  int near = 0;                  // number of rows from which it is computed
  double near_held = 0;          // share of them inside their own bands, weighted by nearness
  double stretch = 1;            // factor on its logarithmic width where too few rows are inside
  bool validated = false;        // both by these rows and by those of its kind
  std::string basis;             // "90 % of ... lie within"
  std::vector<NearRow> nearest;  // nearest first, at most five
  bool outside = false;          // further from all rows than rows are from each other
  std::vector<std::string> unchecked;  // parts of the plan that no row has: "expert parallel"
};

/// ValidatedRows are the rows from which bands are computed, together with what must be known of
/// all of them: how far rows are from those of other sources, and by how much the neighbours'
/// errors must be widened so that 9 of 10 rows lie within the band that other sources give
/// (normalised conformal prediction: Papadopoulos, Gammerman and Vovk 2008).
class ValidatedRows {
 public:
  explicit ValidatedRows(std::vector<ValidatedRow>);
  const std::vector<ValidatedRow>& rows() const { return rows_; }
  /// `without`: rows of this source are ignored. If there is no row at all, nothing is near and the
  /// band is empty.
  Band band(const RunFeatures&, const std::vector<std::string>& parts, bool memory,
            const std::string& without = "") const;
  const KindCheck& check(RowKind kind) const { return checks_[static_cast<std::size_t>(kind)]; }

 private:
  struct Scope {
    double typical = 0;   // median error of all
    double shrink = 1;    // weight with which the neighbours' error is drawn towards it, chosen to
                          // make bands narrowest
    double widen = 1;     // factor on the neighbours' errors
    double farthest = 0;  // distance within which all but a few rows have a row of another source
  };
  struct Near;
  std::vector<Near> near(const RunFeatures&, bool memory, const std::string& without) const;
  double spread(const std::vector<Near>&, const Scope&) const;
  double half_width(const std::vector<Near>&, const Scope&) const;
  // `others` has for each row its neighbours of other sources.
  Scope measure(bool memory, const std::vector<std::vector<Near>>& others) const;
  KindCheck measure(RowKind) const;
  void hold_against_near(Band&, const std::vector<Near>&) const;

  std::vector<ValidatedRow> rows_;
  std::vector<double> weights_;  // 1 / rows of the group
  Scope scopes_[2];              // for time, for memory
  std::vector<double> scores_;   // error over the half-width that rows of other sources give
  KindCheck checks_[3];          // by kind
};

/// Returns the shipped rows, made by `trainyard validate --cross --residuals`.
const ValidatedRows& validated_rows();

/// Return the bands of a run from the shipped rows. blanks is the number of important settings that
/// are not stated.
Band time_band(const Workload&, const StepEstimate&, int blanks = 0);
Band memory_band(const Workload&, const StepEstimate&, int blanks = 0);

/// Adds both bands to a result of this workload: step, energy, money, peaks, the verdict's word,
/// which rows are near, whether it is outside of them, and what no row has checked. For a device
/// that is a core of this machine, the cost model's own measurements give the band of time.
void state_bands(Result&, const Workload&, const CostModel&);

/// Returns estimate() with both bands.
Result banded_estimate(const Workload&, const CostModel&);

}  // namespace trainyard

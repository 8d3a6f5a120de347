// Scaling says what more or fewer devices do to a training. Strong scaling keeps the global batch,
// so that every replica gets fewer microbatches as devices are added. Weak scaling keeps the batch
// of each device, so that the global batch grows with the devices.
//
// Adding devices pays while the added ones bring at least half of their share of throughput: with R
// tokens per second on N devices and R' on N', the share is (R' / R - 1) / (N' / N - 1). It is 1
// where throughput grows as the devices do, and 0 where the added devices change nothing. At one
// half, a doubling makes each token a third dearer. Adding devices stops paying at the first number
// of devices that brings less, counted over the numbers at which the plan fits.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result/figures.h"
#include "core/result/result.h"

namespace trainyard {

enum class ScalingLaw : std::uint8_t { Strong, Weak };
std::string_view to_string(ScalingLaw);  // "strong"

/// The least share of their throughput that added devices have to bring, see above.
inline constexpr double kScalingPays = 0.5;

/// The study for one number of devices.
struct ScalingPoint {
  std::int64_t devices = 1;
  std::int64_t global_batch = 0;  // samples of one step; 0 where the law gives no whole number
  std::optional<Result> result;   // empty where no plan is legal
  std::string why_not;            // why no plan is legal, or why it does not fit; empty = it fits
  /// Throughput per device over that of the fewest devices on which the plan fits; empty where it
  /// does not fit. Under the strong law this is N0 t0 / (N t), under the weak law t0 / t.
  std::optional<double> efficiency;
  /// What the devices bring that were added since the next smaller number on which the plan fits,
  /// as a share of their throughput; empty where it does not fit, and for the fewest devices. The
  /// range takes the errors of the two steps as independent, while those of one model mostly go the
  /// same way.
  std::optional<Banded<double>> added;
  bool fits() const { return result && result->verdict.fits; }
};

struct ScalingCurve {
  ScalingLaw law = ScalingLaw::Strong;
  std::vector<ScalingPoint> points;  // by devices, ascending; none is left out
  // These are indices into points; they are empty where the plan fits on no number of devices.
  std::optional<std::size_t> pays;      // the most devices up to which adding devices pays
  std::optional<std::size_t> cheapest;  // where money per token is least; empty without a price
  std::optional<std::size_t> stops;     // the next number on which it fits, at which adding devices
                                        // stops paying; empty where it pays to the last
};

struct ScalingStudy {
  std::string model, device;  // "llama-3-70b", "H100 SXM5"
  std::int64_t own = 1;       // devices of the scenario's own cluster
  bool searched = false;      // the degrees of each point were searched; else only dp differs
  bool counts_tokens = true;  // else samples
  ScalingCurve strong, weak;
  double per() const { return priced_work(counts_tokens); }  // tokens or samples that money is of
};

struct ScalingOptions {
  std::vector<std::int64_t> devices = {};  // ascending, each >= 1; empty = scaling_counts()
  bool searched = false;                   // what `result_of` does with the degrees
};

/// The largest default number of devices, as a multiple of the scenario's own.
inline constexpr std::int64_t kMostScaling = 16;
/// Returns the scenario's own number of devices, its halves down to the fewest that hold one
/// replica of the plan's degrees (to 1 where degrees are searched), and its doubles up to
/// kMostScaling times.
std::vector<std::int64_t> scaling_counts(const Scenario&, bool searched);

/// Returns the result of a scenario, whose plan leaves dp open and states its batch. Throws
/// Error{InvalidInput} or Error{Unsupported} where no plan is legal.
using ResultOf = std::function<Result(const Scenario&)>;
/// Calls `result_of` for each law and number of devices, in order and on this thread; the
/// scenario's own number of devices is priced once for both laws. Throws Error{InvalidInput} where
/// the degrees of the plan do not divide its devices, and what `result_of` throws beyond the above.
ScalingStudy scaling(const Scenario&, const ScalingOptions&, const ResultOf& result_of);

/// The degrees in which plans of a study differ: "tp=8 pp=4 dp=2 micro-batch=1".
std::string degree_words(const Plan& complete_plan);
/// Says up to how many devices the curve pays, in a whole sentence. It says so where the bands do
/// not tell.
std::string pays_sentence(const ScalingCurve&);
/// Says where a token or sample costs least, in a whole sentence; empty without a price.
std::string cheapest_sentence(const ScalingStudy&, const ScalingCurve&);

}  // namespace trainyard

// A Staircase is how the time of one kernel grows with one of its sizes. Vectors, tiles and blocks
// have fixed widths, so that time grows in steps where a formula of its arithmetic and traffic
// grows evenly. Steps are found by a statistical rule, from times that were measured round by
// round.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/base/banded.h"
#include "core/model/op.h"

namespace trainyard {

/// A ProbedWidth has the times of one width. A round measures every width once, so that the times
/// of one round are neighbours in time and a drift of the machine is the same for all of them.
struct ProbedWidth {
  std::int64_t width = 0;
  std::vector<double> seconds = {};  // by round; > 0
  double roofline = 0;               // seconds by formula; > 0
  Work work = {};
  std::optional<double> calibrated = {}, learned = {};  // seconds, where there is a calibration
};

/// The rule by which widths are told apart.
struct StaircaseRule {
  double confidence = 0.95;  // of all intervals of neighbours together, in (0, 1)
  double least = 0.02;       // a smaller change of time, as a share of it, counts as none
};

/// The time of one width relative to that of another, with an interval of the rule's confidence.
struct WidthRatio {
  std::size_t from = 0, to = 0;  // indices of widths: time at `to` over time at `from`
  Banded<double> ratio;
};

/// A jump between neighbours. It goes up where the interval lies above what the roofline says and
/// the jump is larger than that by `least`; it goes down where the interval lies below 1 and the
/// jump is at least `least`.
struct StairStep {
  WidthRatio jump;
  double roofline = 1;  // the ratio by formula
  bool up = true;
};

struct Staircase {
  std::vector<Banded<double>> seconds;  // by width: the median and its interval
  std::vector<StairStep> jumps;         // of all neighbours: one fewer than widths
  std::vector<std::size_t> steps;       // indices of jumps that are steps, ascending
  /// Paddings that cost nothing: the interval of the wider one's time ends at 1 + least or below.
  /// Those inside another one are left out, as 130 to 140 inside 129 to 144.
  std::vector<WidthRatio> free;
  /// Widths that are dear for their size: the narrower neighbour before a step up, or a wider one
  /// that takes less time. `from` is the better width, `to` the dear one; ascending by `to`.
  std::vector<WidthRatio> dear;
};

/// Returns how many rounds the rule needs for that many widths: with fewer, no interval of its
/// confidence can be made of the times alone.
int least_rounds(std::size_t widths, const StaircaseRule& = {});

/// Returns the median of samples and an interval that holds the true median with that confidence,
/// whatever their distribution: order statistics, by the binomial law of the samples below the
/// median. Throws std::invalid_argument for fewer samples than that takes.
Banded<double> median_interval(std::vector<double> samples, double confidence);

/// Widths must ascend, and have equally many rounds, at least least_rounds(). Ratios are taken
/// within each round, so that a factor on all times of a round changes nothing. Throws
/// std::invalid_argument otherwise. Takes time quadratic in the widths.
Staircase staircase(std::span<const ProbedWidth>, const StaircaseRule& = {});

/// Returns the largest number of which all widths below the steps up are multiples; 1 where there
/// are fewer than two such steps.
std::int64_t common_tread(std::span<const ProbedWidth>, const Staircase&);

}  // namespace trainyard

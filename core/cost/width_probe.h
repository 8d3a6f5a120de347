// A WidthProbe is what a sweep of one size of one op found on a machine: every width's measured
// times beside what formulas and calibrations say, the steps among them, and what follows in
// sentences.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/cost/staircase.h"

namespace trainyard {

struct WidthProbe {
  std::string op, pass, varied;                             // "matmul", "forward", "n"
  std::vector<std::pair<std::string, std::int64_t>> sizes;  // all sizes but the varied one
  std::string machine;
  std::string calibration;  // whose prices stand beside the times; empty = none
  int rounds = 0;
  std::vector<ProbedWidth> widths;
  StaircaseRule rule;
  Staircase stairs;
};

/// "matmul forward, m=256 k=512".
std::string probed_words(const WidthProbe&);
/// Says what the steps are, which widths are dear and which paddings are free, the dearest and
/// widest first, at most `most` of a kind. Where there is no step it says how large one could be
/// and remain unseen.
std::vector<std::string> probe_sentences(const WidthProbe&, std::size_t most = 6);

/// The largest factor beyond the roofline's that any neighbour's interval allows, less 1: where
/// nothing is a step, no step is larger than this.
double largest_unseen_step(const WidthProbe&);

}  // namespace trainyard

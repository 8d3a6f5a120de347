// GradientTraffic is what compression or relaxed synchrony saves on the wire: the bytes that a rank
// receives in a step, of parts of gradients (core/methods/parallel/compression.cpp) or of weights
// once in several steps (relaxed_synchrony.cpp), against those of whole gradients.
#pragma once

#include <optional>
#include <string>

#include "core/base/units.h"

namespace trainyard {

struct Workload;

struct GradientTraffic {
  Bytes received{};             // by the ranks of one replica together, after the warm-up; mean
                                // of the steps of a period
  Bytes dense{};                // the same of a ring all-reduce of whole gradients
  double break_even_ranks = 0;  // replicas at which both are equal; 0: their share is the same at
                                // all numbers
  std::string sentence;  // "a replica receives 1.2 MiB of gradients a step, 0.4 % of whole ones;
                         // ..."
};

/// Returns nothing where replicas add up whole gradients in every step.
std::optional<GradientTraffic> gradient_traffic(const Workload&);

}  // namespace trainyard

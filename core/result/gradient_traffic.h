// GradientTraffic is what compression saves on the wire: the bytes of gradients that a rank
// receives in a step, against those of whole gradients (core/methods/parallel/compression.cpp).
#pragma once

#include <optional>
#include <string>

#include "core/base/units.h"

namespace trainyard {

struct Workload;

struct GradientTraffic {
  Bytes received{};             // by the ranks of one replica together, after the warm-up
  Bytes dense{};                // the same of a ring all-reduce of whole gradients
  double break_even_ranks = 0;  // replicas at which both are equal
  std::string sentence;  // "a replica receives 1.2 MiB of gradients a step, 0.4 % of whole ones;
                         // ..."
};

/// Returns nothing where replicas do not compress their gradients.
std::optional<GradientTraffic> gradient_traffic(const Workload&);

}  // namespace trainyard

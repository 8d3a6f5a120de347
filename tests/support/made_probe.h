// A probe of made-up times, with which staircases, their words and their pictures are tested.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "core/cost/width_probe.h"

namespace trainyard::testing {

struct MadeProbe {
  std::int64_t first = 120, last = 150;
  /// The time of a width, in seconds; every round takes it times a noise of the rule's order.
  std::function<double(std::int64_t)> seconds;
  double noise = 0;  // share by which every second round is slower
  int rounds = 21;
};

/// Its roofline grows in proportion to the width: 1 us each.
inline WidthProbe made_probe(const MadeProbe& made) {
  WidthProbe probe;
  probe.op = "matmul", probe.pass = "forward", probe.varied = "n";
  probe.sizes = {{"m", 64}, {"k", 256}};
  probe.machine = "a made-up machine";
  probe.rounds = made.rounds;
  for (std::int64_t width = made.first; width <= made.last; ++width) {
    ProbedWidth w{.width = width, .roofline = 1e-6 * static_cast<double>(width)};
    w.work.flops = {2.0 * 64 * 256 * static_cast<double>(width)};
    for (int r = 0; r < made.rounds; ++r)
      w.seconds.push_back(made.seconds(width) *
                          (1 + (static_cast<std::int64_t>(r) + width) % 2 * made.noise));
    probe.widths.push_back(std::move(w));
  }
  probe.stairs = staircase(probe.widths, probe.rule);
  return probe;
}

/// Time that grows with the width rounded up to a multiple of the tread.
inline double stairs_of(std::int64_t width, std::int64_t tread) {
  return 1e-6 * static_cast<double>((width + tread - 1) / tread * tread);
}

}  // namespace trainyard::testing

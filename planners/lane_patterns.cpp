#include "planners/lane_patterns.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>

namespace trainyard {

Travelling warm_up(const Pipeline& p, const std::vector<std::int32_t>& forwards) {
  assert(p.chunks == 1);
  Travelling steps;
  steps.reserve(Pipeline::at(p.stages) * Pipeline::at(p.microbatches) * 2);
  for (const std::int32_t wanted : forwards) {
    const int n = std::min<int>(wanted, p.microbatches);
    steps.insert(steps.end(), Pipeline::at(n), step_of(0, kForward));
    for (int k = 0; k < p.microbatches; ++k) {
      steps.push_back(step_of(0, kInput));
      if (k + n < p.microbatches) steps.push_back(step_of(0, kForward));
    }
  }
  return steps;
}

std::vector<std::int32_t> line_of_warm_ups(const Pipeline& p, int first, double lift) {
  std::vector<std::int32_t> forwards;
  const int last = p.devices - 1;
  for (int d = 0; d <= last; ++d) {
    const double part = last == 0 ? 1.0 : static_cast<double>(last - d) / last;
    // A hair less than the lift: what falls on a whole number stays on its lower side.
    const double exact = 1 + (first - 1) * part + lift - 1e-6 * (lift > 0);
    forwards.push_back(std::clamp<std::int32_t>(static_cast<std::int32_t>(exact), 1, first));
  }
  return forwards;
}

std::vector<std::int32_t> cells_of(const Pipeline& p, const VBlock& block) {
  assert(p.chunks == 2);
  std::vector<std::uint32_t> taken(Pipeline::at(p.devices), 0);
  std::vector<std::int32_t> cells(Pipeline::at(p.stages) * 2);
  int now = 0;
  bool found = true;
  const auto put = [&](int stage, Part part) {
    const std::uint32_t shape = part == kInput && !p.split ? 0b11 : 0b1;
    std::uint32_t& row = taken[Pipeline::at(p.device[Pipeline::at(stage)])];
    for (int tries = 0; tries < kBlockPeriod; ++tries, ++now) {
      // A row is a ring: a pass of two cells may begin in the last and end in the first.
      const std::uint32_t wide = shape << (now % kBlockPeriod),
                          mask = (wide | wide >> kBlockPeriod) & 0b111111;
      if ((row & mask) != 0) continue;
      row |= mask;
      cells[Pipeline::at(2 * stage) + part] = now;
      return;
    }
    found = false;
  };
  const int last = p.devices - 1, backward = p.split ? 1 : 2;
  for (int s = 0; s < p.stages && found; ++s) {
    put(s, kForward);
    now += s < last ? block.forward_down : s == last ? 1 : block.forward_up;
  }
  now += block.back - block.forward_up;
  for (int s = p.stages; s-- > 0 && found;) {
    put(s, kInput);
    now += s > last + 1 ? block.input_down : s == last + 1 ? backward : block.input_up;
  }
  return found ? cells : std::vector<std::int32_t>{};
}

Travelling repeated(const Pipeline& p, const std::vector<std::int32_t>& cells) {
  Travelling steps;
  steps.reserve(Pipeline::at(p.stages) * Pipeline::at(p.microbatches) * 2);
  for (int d = 0; d < p.devices; ++d) {
    std::array<std::int32_t, 4> next{}, done{};
    std::array<Step, 4> kinds{};
    for (int c = 0; c < 2; ++c)
      for (const Part part : {kForward, kInput}) {
        const std::size_t i = Pipeline::at(2 * c) + part;
        next[i] = cells[Pipeline::at(2 * p.stage_at(d, c)) + part];
        kinds[i] = step_of(c, part);
      }
    for (int i = 0; i < 4 * p.microbatches; ++i) {
      std::size_t first = 4;
      for (std::size_t j = 0; j < 4; ++j)
        if (done[j] < p.microbatches && (first == 4 || next[j] < next[first])) first = j;
      steps.push_back(kinds[first]);
      next[first] += kBlockPeriod;
      ++done[first];
    }
  }
  return steps;
}

Travelling travelling_of(const Pipeline& p, const Lanes& lanes) {
  Travelling steps;
  steps.reserve(Pipeline::at(p.stages) * Pipeline::at(p.microbatches) * 2);
  for (const Step step : lanes.steps)
    if (part_of(step) != kWeight) steps.push_back(step);
  return steps;
}

}  // namespace trainyard

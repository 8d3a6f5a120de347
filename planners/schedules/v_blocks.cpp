#include "planners/schedules/v_blocks.h"

#include <algorithm>
#include <array>
#include <cassert>

#include "planners/index.h"

namespace trainyard {
namespace {

constexpr std::uint8_t kFree = 255, kSecondHalf = 254;

// A table of passes by device and cell, in which all cells are equally long and messages take no
// time.
class Cells {
 public:
  Cells(const Pipeline& p, const std::vector<std::int32_t>& first) : p_(p), first_(first) {
    const std::int32_t last = *std::max_element(first.begin(), first.end());
    // The width leaves a cell for every weight gradient behind the last input gradient.
    width_ = at(last + kBlockPeriod * p.microbatches + 2 * p.microbatches + 4);
    cells_.assign(at(p.devices) * width_, kFree);
    held_.assign(cells_.size(), 0);
    placed_.assign(at(p.stages) * 3 * at(p.microbatches), 0);
    for (int s = 0; s < p.stages; ++s) fill(s);
    for (int d = 0; d < p.devices && p.split; ++d) fill_weights(d);
    for (int d = 0; d < p.devices; ++d) count_held(d);
  }

  // Compacts everything, or only the fill (before the first device has finished the backward of a
  // microbatch) and the drain (after it has begun its last forward).
  void compact(bool steady) {
    each([&](Phase phase, const Pass& pass) {
      if (steady || phase != Phase::Steady) move(pass);
    });
  }

  // Compacts the drain once more with weight gradients deferred: they take the cells that are left,
  // and a pass moves only if its device still keeps its limit.
  void compact_drain() {
    if (!p_.split) return;
    drain_ = placed(0, kForward, p_.microbatches - 1) + 1;
    for (int d = 0; d < p_.devices; ++d) drains_.push_back(drain_of(d));
    for (int d = 0; d < p_.devices; ++d)
      for (std::size_t cell = drain_; cell < width_; ++cell) {
        std::uint8_t& code = cells_[at(d) * width_ + cell];
        if (code < kSecondHalf && part_of(code) == kWeight) code = kFree;
      }
    each([&](Phase phase, const Pass& pass) {
      if (phase == Phase::Drain && pass.cell >= drain_) move_in_drain(pass);
    });
    for (int d = 0; d < p_.devices; ++d) weights_fit(d, true);
  }

  Lanes lanes() const {
    Lanes lanes;
    lanes.steps.reserve(p_.lane_length() * at(p_.devices));
    for (const std::uint8_t code : cells_)
      if (code < kSecondHalf) lanes.steps.push_back(code);
    assert(lanes.steps.size() == p_.lane_length() * at(p_.devices));
    return lanes;
  }

 private:
  enum class Phase : std::uint8_t { Fill, Steady, Drain };
  struct Pass {
    int device, stage;
    Part part;
    std::int32_t microbatch;
    std::size_t cell;
  };

  // Calls f with the passes in the order of their cells.
  template <class F>
  void each(F f) {
    std::vector<std::int32_t> done(at(p_.stages) * 3, 0);
    Phase phase = Phase::Fill;
    for (std::size_t now = 0; now < width_; ++now)
      for (int d = 0; d < p_.devices; ++d) {
        const std::uint8_t code = cells_[at(d) * width_ + now];
        if (code >= kSecondHalf) continue;
        const int s = p_.stage_at(d, chunk_of(code));
        const Part part = part_of(code);
        const std::int32_t k = done[at(3 * s) + part]++;
        if (s == 0 && part == kInput && phase == Phase::Fill) phase = Phase::Steady;
        f(phase, Pass{d, s, part, k, now});
        if (s == 0 && part == kForward && k + 1 == p_.microbatches) phase = Phase::Drain;
      }
  }

  std::size_t length(Part part) const { return part == kInput && !p_.split ? 2 : 1; }
  std::uint8_t code_of(int s, Part part) const {
    return static_cast<std::uint8_t>(step_of(p_.chunk[at(s)], part));
  }
  std::size_t& placed(int s, Part part, std::int32_t k) {
    return placed_[(at(3 * s) + part) * at(p_.microbatches) + at(k)];
  }

  void put(int d, std::size_t cell, std::uint8_t code, std::size_t length) {
    cells_[at(d) * width_ + cell] = code;
    if (length == 2) cells_[at(d) * width_ + cell + 1] = kSecondHalf;
  }

  void fill(int s) {
    for (const Part part : {kForward, kInput})
      for (std::int32_t k = 0; k < p_.microbatches; ++k) {
        const std::size_t cell = at(first_[at(2 * s) + part] + kBlockPeriod * k);
        put(p_.device[at(s)], cell, code_of(s, part), length(part));
        placed(s, part, k) = cell;
      }
  }

  // Puts a weight gradient into every free cell as soon as one is ready.
  void fill_weights(int d) {
    std::array<std::int32_t, 2> ahead{}, done{};
    for (std::size_t cell = 0; cell < width_; ++cell) {
      const std::uint8_t code = cells_[at(d) * width_ + cell];
      if (code != kFree) {
        if (part_of(code) == kInput) ++ahead[at(chunk_of(code))];
        continue;
      }
      const std::size_t c = ahead[1] > ahead[0] ? 1 : 0;
      if (ahead[c] == 0) continue;
      --ahead[c];
      const int s = p_.stage_at(d, static_cast<int>(c));
      put(d, cell, code_of(s, kWeight), 1);
      placed(s, kWeight, done[c]++) = cell;
    }
  }

  // Computes what is held in each cell: a forward counts from its own cell on, and what the other
  // passes free is subtracted behind their cells.
  void count_held(int d) {
    std::int64_t now = 0, freed = 0;
    std::size_t freed_at = 0;
    for (std::size_t cell = 0; cell < width_; ++cell) {
      if (freed != 0 && cell >= freed_at) now += freed, freed = 0;
      const std::uint8_t code = cells_[at(d) * width_ + cell];
      if (code < kSecondHalf) {
        const int s = p_.stage_at(d, chunk_of(code));
        const std::int64_t change = p_.change[part_of(code)][at(s)];
        if (part_of(code) == kForward)
          now += change;
        else
          freed += change, freed_at = cell + length(part_of(code));
      }
      held_[at(d) * width_ + cell] = now;
    }
  }

  // The first cell at which the inputs of a pass are available.
  std::size_t earliest(int s, Part part, std::int32_t k) {
    std::size_t cell = k > 0 ? placed(s, part, k - 1) + length(part) : 0;
    if (part == kForward && s > 0) cell = std::max(cell, placed(s - 1, kForward, k) + 1);
    if (part == kInput) {
      cell = std::max(cell, placed(s, kForward, k) + 1);
      if (s + 1 < p_.stages) cell = std::max(cell, placed(s + 1, kInput, k) + length(kInput));
    }
    if (part == kWeight) cell = std::max(cell, placed(s, kInput, k) + 1);
    return cell;
  }

  void move(const Pass& pass) {
    const auto [d, s, part, k, now] = pass;
    std::uint8_t* row = cells_.data() + at(d) * width_;
    std::int64_t* held = held_.data() + at(d) * width_;
    std::size_t to = earliest(s, part, k);
    if (part == kForward && to < now) {
      // Moves only as far as its device has memory in every cell on the way.
      std::size_t room = now;
      while (room > to && held[room - 1] + p_.held[at(s)] <= p_.limit[at(d)]) --room;
      to = room;
    }
    const std::size_t wide = length(part);
    while (to < now && (row[to] != kFree || (wide == 2 && to + 1 < now && row[to + 1] != kFree)))
      ++to;
    if (to >= now) return;
    row[now] = kFree;
    if (wide == 2) row[now + 1] = kFree;
    put(d, to, code_of(s, part), wide);
    placed(s, part, k) = to;
    const std::size_t shift = part == kForward ? 0 : wide;
    for (std::size_t cell = to + shift; cell < now + shift; ++cell)
      held[cell] += p_.change[part][at(s)];
  }

  // The state of a device when the pipeline begins to drain.
  struct Drain {
    std::int64_t held = 0, freed = 0;       // freed: by the pass in the cell before
    std::array<std::int32_t, 2> pending{};  // weight gradients of each chunk
    std::int32_t forwards = 0;              // forwards that are left
  };

  Drain drain_of(int d) const {
    Drain drain;
    drain.forwards = 2 * p_.microbatches;
    for (std::size_t cell = 0; cell < drain_; ++cell) {
      const std::uint8_t code = cells_[at(d) * width_ + cell];
      if (code >= kSecondHalf) continue;
      const std::int64_t change = p_.change[part_of(code)][at(p_.stage_at(d, chunk_of(code)))];
      drain.held += drain.freed, drain.freed = 0;
      if (part_of(code) == kForward)
        drain.held += change, --drain.forwards;
      else
        drain.freed = change;
      if (part_of(code) == kInput) ++drain.pending[at(chunk_of(code))];
      if (part_of(code) == kWeight) --drain.pending[at(chunk_of(code))];
    }
    drain.held += drain.freed, drain.freed = 0;
    return drain;
  }

  // Returns whether the device keeps its limit in the drain if weight gradients take the free
  // cells. With `write` it puts them there, whether or not the limit is kept.
  bool weights_fit(int d, bool write) {
    Drain now = drains_[at(d)];
    for (std::size_t cell = drain_; cell < width_ && (write || now.forwards > 0); ++cell) {
      now.held += now.freed, now.freed = 0;
      const std::uint8_t code = cells_[at(d) * width_ + cell];
      const bool free = code == kFree;
      const std::size_t c = free ? (now.pending[1] > now.pending[0] ? 1 : 0) : at(chunk_of(code));
      const auto s = at(p_.stage_at(d, static_cast<int>(c)));
      if (free) {
        if (now.pending[c] == 0) continue;
        --now.pending[c], now.freed = p_.change[kWeight][s];
        if (write) put(d, cell, code_of(static_cast<int>(s), kWeight), 1);
      } else if (part_of(code) == kForward) {
        now.held += p_.change[kForward][s], --now.forwards;
        if (!write && now.held > p_.limit[at(d)]) return false;
      } else {
        ++now.pending[c], now.freed = p_.change[kInput][s];
      }
    }
    return true;
  }

  void move_in_drain(const Pass& pass) {
    const auto [d, s, part, k, now] = pass;
    std::uint8_t* row = cells_.data() + at(d) * width_;
    for (std::size_t to = std::max(drain_, earliest(s, part, k)); to < now; ++to) {
      if (row[to] != kFree) continue;
      row[to] = row[now], row[now] = kFree;
      if (weights_fit(d, false)) {
        placed(s, part, k) = to;
        return;
      }
      row[now] = row[to], row[to] = kFree;
    }
  }

  const Pipeline& p_;
  const std::vector<std::int32_t>& first_;
  std::size_t width_ = 0, drain_ = 0;
  std::vector<Drain> drains_;
  std::vector<std::uint8_t> cells_;  // by device and cell: the step in it
  std::vector<std::int64_t> held_;   // by device and cell: bytes held
  std::vector<std::size_t> placed_;  // the cell of a pass, by stage, part and microbatch
};

}  // namespace

std::vector<std::int32_t> cells_of(const Pipeline& p, const VBlock& block) {
  assert(p.chunks == 2);
  std::vector<std::uint32_t> taken(at(p.devices), 0);
  std::vector<std::int32_t> cells(at(p.stages) * 2);
  int now = 0;
  bool found = true;
  const auto put = [&](int stage, Part part) {
    const std::uint32_t shape = part == kInput && !p.split ? 0b11 : 0b1;
    std::uint32_t& row = taken[at(p.device[at(stage)])];
    for (int tries = 0; tries < kBlockPeriod; ++tries, ++now) {
      // A row is a ring, so a pass of two cells may begin in the last cell and end in the first.
      const std::uint32_t wide = shape << (now % kBlockPeriod),
                          mask = (wide | wide >> kBlockPeriod) & 0b111111;
      if ((row & mask) != 0) continue;
      row |= mask;
      cells[at(2 * stage) + part] = now;
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
    now += s > last + 1    ? block.input_down
           : s == last + 1 ? block.turn + backward - 1
                           : block.input_up;
  }
  return found ? cells : std::vector<std::int32_t>{};
}

Travelling repeated(const Pipeline& p, const std::vector<std::int32_t>& cells) {
  Travelling steps;
  steps.reserve(at(p.stages) * at(p.microbatches) * 2);
  for (int d = 0; d < p.devices; ++d) {
    std::array<std::int32_t, 4> next{}, done{};
    std::array<LaneStep, 4> kinds{};
    for (int c = 0; c < 2; ++c)
      for (const Part part : {kForward, kInput}) {
        const std::size_t i = at(2 * c) + part;
        next[i] = cells[at(2 * p.stage_at(d, c)) + part];
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

Lanes compacted(const Pipeline& p, const std::vector<std::int32_t>& cells, bool steady) {
  Cells table(p, cells);
  table.compact(steady);
  table.compact_drain();
  return table.lanes();
}

}  // namespace trainyard

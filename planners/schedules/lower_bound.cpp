#include "planners/schedules/lower_bound.h"

#include <algorithm>

#include "planners/index.h"

namespace trainyard {
namespace {

// A kind of item of which a device can have at most `count`.
struct Item {
  Ticks time = 0;
  std::int64_t bytes = 0;
};

// The most time of items that fit into `bytes`; fractions of items count if sizes differ.
Ticks most_time(std::vector<Item> items, std::int64_t count, std::int64_t bytes) {
  std::erase_if(items, [](const Item& i) { return i.time == 0; });
  std::sort(items.begin(), items.end(), [](const Item& a, const Item& b) {
    return static_cast<double>(a.time) * static_cast<double>(b.bytes) >
           static_cast<double>(b.time) * static_cast<double>(a.bytes);
  });
  Ticks sum = 0;
  const bool alike = std::all_of(items.begin(), items.end(),
                                 [&](const Item& i) { return i.bytes == items.front().bytes; });
  for (const Item& item : items) {
    const std::int64_t n = item.bytes == 0 ? count : std::min(count, bytes / item.bytes);
    sum += n * item.time;
    bytes -= n * item.bytes;
    if (n < count && !alike) {
      // Rounded up twice, because a bound must not lose a tick to floating point.
      const double part = static_cast<double>(bytes) / static_cast<double>(item.bytes);
      return sum + static_cast<Ticks>(part * static_cast<double>(item.time)) + 2;
    }
  }
  return sum;
}

class Bounds {
 public:
  Bounds(const Pipeline& p, ScheduleObjective objective)
      : p_(p), heads_(heads_of(p)), tails_(tails_of(p, objective)) {}

  Ticks of_device(int d) const {
    const Ticks head = p_.head[at(d)], work = p_.work[at(d)];
    const int first = p_.stage_at(d, 0);
    Ticks bound = head + work + tails_.weight[at(first)];
    Ticks first_input = kNever, tail = kNever;
    std::vector<Item> forwards, rest;
    for (int c = 0; c < p_.chunks; ++c) {
      const std::size_t s = at(p_.stage_at(d, c));
      first_input = std::min(first_input, heads_.input[s]);
      tail = std::min(tail, p_.time[kForward][s] + tails_.forward[s]);
      forwards.push_back({p_.time[kForward][s], p_.held[s]});
      rest.push_back({p_.time[kInput][s] + p_.time[kWeight][s], p_.held[s]});
      if (p_.split) rest.push_back({p_.time[kWeight][s], -p_.change[kWeight][s]});
    }
    const std::int64_t m = p_.microbatches, limit = p_.limit[at(d)];
    const Ticks before = most_time(forwards, m, limit);
    const Ticks idle = std::max<Ticks>(0, first_input - head - before);
    bound = std::max(bound, head + work + idle + tails_.weight[at(first)]);
    // After its last forward, a device has no more work than the microbatches in memory then
    // require.
    const Ticks after = most_time(rest, m, limit);
    const Ticks longest = longest_forward(d);
    // If all forwards may come first, the device need not have waited for a gradient by then.
    const Ticks waited = all_forwards_may_come_first(d) ? 0 : idle;
    return std::max(bound, head + waited + work - after - longest + tail);
  }

  Ticks of_stage(int s) const {
    const Ticks m = p_.microbatches;
    Ticks bound = heads_.forward[at(s)] + m * p_.time[kForward][at(s)] + tails_.forward[at(s)];
    return std::max(bound, heads_.input[at(s)] + m * p_.time[kInput][at(s)] + tails_.input[at(s)]);
  }

  // The memory-time product of the device's microbatches, divided by its memory.
  Ticks of_memory(int d, const Tails& tails) const {
    if (p_.limit[at(d)] == kNoLimit) return 0;
    double taken = 0;
    std::int64_t unit = p_.held[at(p_.stage_at(d, 0))];
    bool alike = true;
    for (int c = 0; c < p_.chunks; ++c) {
      const std::size_t s = at(p_.stage_at(d, c));
      const auto until_input =
          static_cast<double>(heads_.input[s] - heads_.forward[s] + p_.time[kInput][s]);
      taken +=
          static_cast<double>(p_.held[s]) * until_input -
          static_cast<double>(p_.change[kWeight][s]) * static_cast<double>(p_.time[kWeight][s]);
      // Checks that the input gradient frees nothing, because all memory is held to the weight
      // gradient.
      alike = alike && p_.held[s] == unit && p_.change[kWeight][s] == (p_.split ? -unit : 0);
    }
    std::int64_t limit = p_.limit[at(d)];
    if (alike && unit > 0) limit = limit / unit * unit;
    if (limit <= 0) return 0;
    const double bound = taken * p_.microbatches / static_cast<double>(limit) * (1 - 1e-12);
    return p_.head[at(d)] + static_cast<Ticks>(bound) + tails.weight[at(p_.stage_at(d, 0))];
  }

  const Tails& tails() const { return tails_; }

 private:
  Ticks longest_forward(int d) const {
    Ticks longest = 0;
    for (int c = 0; c < p_.chunks; ++c)
      longest = std::max(longest, p_.time[kForward][at(p_.stage_at(d, c))]);
    return longest;
  }
  bool all_forwards_may_come_first(int d) const {
    std::int64_t held = 0;
    for (int c = 0; c < p_.chunks; ++c) {
      const std::int64_t one = p_.held[at(p_.stage_at(d, c))];
      held += one * p_.microbatches;
    }
    return held <= p_.limit[at(d)];
  }

  const Pipeline& p_;
  Heads heads_;
  Tails tails_;
};

}  // namespace

Heads heads_of(const Pipeline& p) {
  Heads heads;
  heads.forward.resize(at(p.stages)), heads.input.resize(at(p.stages));
  Ticks now = 0;
  for (int s = 0; s < p.stages; ++s) {
    heads.forward[at(s)] = now;
    now += p.time[kForward][at(s)] + p.hop[at(s)];
  }
  for (int s = p.stages; s-- > 0;) {
    heads.input[at(s)] = now;
    now += p.time[kInput][at(s)] + (s > 0 ? p.hop[at(s - 1)] : 0);
  }
  return heads;
}

Tails tails_of(const Pipeline& p, ScheduleObjective objective) {
  Tails tails;
  for (auto* list : {&tails.forward, &tails.input, &tails.weight}) list->resize(at(p.stages));
  Ticks below = -kNever;  // from the start of the input gradient of the next stage
  for (int s = 0; s < p.stages; ++s) {
    const std::size_t i = at(s);
    tails.weight[i] = objective == ScheduleObjective::Span ? -p.head[at(p.device[i])] : 0;
    const Ticks own = p.time[kWeight][i] + tails.weight[i];
    tails.input[i] = s == 0 ? own : std::max(own, p.hop[i - 1] + below);
    below = p.time[kInput][i] + tails.input[i];
  }
  for (int s = p.stages; s-- > 0;) {
    const std::size_t i = at(s);
    const Ticks own = p.time[kInput][i] + tails.input[i];
    tails.forward[i] =
        s + 1 == p.stages ? own : p.hop[i] + p.time[kForward][i + 1] + tails.forward[i + 1];
  }
  return tails;
}

Ticks lower_bound(const Pipeline& p, ScheduleObjective objective) {
  const Bounds bounds(p, objective);
  Ticks bound = 0;
  for (int d = 0; d < p.devices; ++d)
    bound = std::max({bound, bounds.of_device(d), bounds.of_memory(d, bounds.tails())});
  for (int s = 0; s < p.stages; ++s) bound = std::max(bound, bounds.of_stage(s));
  return bound;
}

}  // namespace trainyard

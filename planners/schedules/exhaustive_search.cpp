#include "planners/schedules/exhaustive_search.h"

#include <algorithm>
#include <string>
#include <unordered_map>

#include "core/base/error.h"
#include "planners/index.h"
#include "planners/schedules/lower_bound.h"

namespace trainyard {
namespace {

constexpr Ticks kNoTime = -1;
constexpr std::size_t kMostFronts = 24;       // states kept for each set of passes done
constexpr std::size_t kMostKept = 2'000'000;  // states kept in total
constexpr std::uint64_t kNodesBetweenStops = 4096;

// What has been decided so far. A device is either free from some time on, or committed to a step
// whose input has not been produced yet.
struct State {
  std::vector<std::int32_t> done;     // indexed by 3 stage + pass
  std::vector<std::int32_t> waiting;  // per device: the step it is committed to, or -1
  std::vector<Ticks> free;
  std::vector<std::int64_t> held;
  std::vector<Ticks> left;                    // remaining work of each device
  std::vector<Ticks> forward_end, input_end;  // indexed by stage * m + microbatch
};

struct Decision {
  int device = 0;
  LaneStep step = 0;
};

class ExhaustiveSearch {
 public:
  ExhaustiveSearch(const Pipeline& p, ScheduleObjective objective, Ticks incumbent, Ticks bound,
                   std::int64_t nodes, const std::stop_token& stop)
      : p_(p),
        tails_(tails_of(p, objective)),
        best_(incumbent),
        bound_(bound),
        nodes_(nodes),
        stop_(stop) {}

  Exhausted run() {
    State state;
    state.done.assign(at(p_.stages) * 3, 0);
    state.waiting.assign(at(p_.devices), -1);
    state.free.assign(at(p_.devices), 0);
    state.held.assign(at(p_.devices), 0);
    state.left = p_.work;
    state.forward_end.assign(at(p_.stages) * at(p_.microbatches), kNoTime);
    state.input_end = state.forward_end;
    descend(state);
    found_.complete = !out_of_nodes_;
    return std::move(found_);
  }

 private:
  bool finished(const State& state, int d) const {
    for (int c = 0; c < p_.chunks; ++c)
      if (state.done[3 * at(p_.stage_at(d, c)) + last_part()] < p_.microbatches) return false;
    return true;
  }
  Part last_part() const { return p_.split ? kWeight : kInput; }

  // The device that decides next is a function of the state alone. This loses nothing: whatever the
  // other lanes will be, they are found below this node.
  int decider(const State& state) const {
    int chosen = -1;
    for (int d = 0; d < p_.devices; ++d)
      if (state.waiting[at(d)] < 0 && !finished(state, d) &&
          (chosen < 0 || state.free[at(d)] < state.free[at(chosen)]))
        chosen = d;
    return chosen;
  }

  void descend(const State& state) {
    if (found_.nodes >= nodes_) {
      out_of_nodes_ = true;
      return;
    }
    if (static_cast<std::uint64_t>(++found_.nodes) % kNodesBetweenStops == 0 &&
        stop_.stop_requested())
      throw Error(Error::Kind::Cancelled, "the search for an order was stopped");
    const int d = decider(state);
    if (d < 0) {
      conclude(state);
      return;
    }
    for (const LaneStep step : options(state, d)) {
      if (best_ <= bound_ || out_of_nodes_) return;
      State next = state;
      path_.push_back({d, step});
      if (!p_.limited || room(next, d, step)) {
        next.waiting[at(d)] = step;
        settle(next);
        if (bound_of(next) < best_ && remember(next)) descend(next);
      }
      path_.pop_back();
    }
  }

  // Called when all devices have finished or wait for each other.
  void conclude(const State& state) {
    Ticks value = 0;
    for (int d = 0; d < p_.devices; ++d) {
      if (state.waiting[at(d)] >= 0) return;
      value = std::max(value, state.free[at(d)] + tails_.weight[at(p_.stage_at(d, 0))]);
    }
    if (value >= best_) return;
    best_ = value;
    const std::size_t length = p_.lane_length();
    std::vector<std::size_t> next(at(p_.devices));
    for (std::size_t d = 0; d < next.size(); ++d) next[d] = d * length;
    found_.lanes = Lanes{std::vector<LaneStep>(length * next.size())};
    for (const Decision& made : path_) found_.lanes->steps[next[at(made.device)]++] = made.step;
  }

  int stage_of(int d, LaneStep step) const { return p_.stage_at(d, chunk_of(step)); }
  Ticks length(int d, LaneStep step) const { return p_.time[part_of(step)][at(stage_of(d, step))]; }

  bool room(const State& state, int d, LaneStep step) const {
    return part_of(step) != kForward ||
           p_.held[at(stage_of(d, step))] <= p_.limit[at(d)] - state.held[at(d)];
  }

  // When the input of a stage's next pass is available; kNoTime if it has not been produced.
  Ticks arrival(const State& state, int s, Part pass) const {
    const std::size_t m = at(p_.microbatches);
    const auto k = static_cast<std::size_t>(state.done[3 * at(s) + pass]);
    if (pass == kWeight) return 0;
    if (pass == kForward) {
      if (s == 0) return 0;
      const Ticks end = state.forward_end[at(s - 1) * m + k];
      return end == kNoTime ? kNoTime : end + p_.hop[at(s - 1)];
    }
    if (s + 1 == p_.stages) return state.forward_end[at(s) * m + k];
    const Ticks end = state.input_end[at(s + 1) * m + k];
    return end == kNoTime ? kNoTime : end + p_.hop[at(s)];
  }

  // The earliest time at which a stage's next pass can begin.
  Ticks earliest(const State& state, int s, Part pass) const {
    const Ticks free = state.free[at(p_.device[at(s)])];
    if (pass == kWeight) return free;
    const Ticks known = arrival(state, s, pass);
    if (known != kNoTime) return std::max(free, known);
    if (pass == kForward)
      return std::max(free, earliest(state, s - 1, kForward) + p_.time[kForward][at(s - 1)] +
                                p_.hop[at(s - 1)]);
    Ticks start = free;
    if (state.done[3 * at(s) + kForward] == state.done[3 * at(s) + kInput])
      start = std::max(start, earliest(state, s, kForward) + p_.time[kForward][at(s)]);
    if (s + 1 < p_.stages)
      start = std::max(start,
                       earliest(state, s + 1, kInput) + p_.time[kInput][at(s + 1)] + p_.hop[at(s)]);
    return start;
  }

  // The steps that a device may do next, earliest first, except those that leave a gap in which
  // another step would fit whole.
  std::vector<LaneStep> options(const State& state, int d) const {
    struct Option {
      LaneStep step;
      Ticks start;
      bool known;
    };
    std::vector<Option> all;
    const auto add = [&](int chunk, Part pass) {
      const int s = p_.stage_at(d, chunk);
      all.push_back({step_of(chunk, pass), earliest(state, s, pass),
                     pass == kWeight || arrival(state, s, pass) != kNoTime});
    };
    bool travelling = false;
    for (int c = p_.chunks; c-- > 0;) {
      const std::int32_t* done = &state.done[3 * at(p_.stage_at(d, c))];
      if (done[kInput] < done[kForward]) add(c, kInput);
      if (done[kForward] < p_.microbatches) add(c, kForward);
      travelling = travelling || done[kInput] < p_.microbatches;
    }
    for (int c = 0; c < p_.chunks && p_.split; ++c) {
      const std::int32_t* done = &state.done[3 * at(p_.stage_at(d, c))];
      if (done[kWeight] < done[kInput] && !like_an_earlier(state, d, c)) add(c, kWeight);
    }
    // Only weight gradients are left, and their order does not matter.
    if (!travelling) return {all.front().step};
    std::vector<LaneStep> kept;
    std::stable_sort(all.begin(), all.end(),
                     [](const Option& a, const Option& b) { return a.start < b.start; });
    for (const Option& o : all) {
      const bool beaten = std::any_of(all.begin(), all.end(), [&](const Option& other) {
        const Ticks needed = length(d, other.step);
        const bool frees = part_of(other.step) != kForward || p_.limit[at(d)] == kNoLimit;
        return other.step != o.step && other.known && frees && needed > 0 &&
               other.start + needed <= o.start;
      });
      if (!beaten) kept.push_back(o.step);
    }
    return kept;
  }

  // Weight gradients of chunks with equal costs are the same choice.
  bool like_an_earlier(const State& state, int d, int chunk) const {
    const std::size_t s = at(p_.stage_at(d, chunk));
    for (int c = 0; c < chunk; ++c) {
      const std::size_t o = at(p_.stage_at(d, c));
      if (state.done[3 * o + kWeight] < state.done[3 * o + kInput] &&
          p_.time[kWeight][o] == p_.time[kWeight][s] &&
          p_.change[kWeight][o] == p_.change[kWeight][s])
        return true;
    }
    return false;
  }

  // Runs every committed step whose input is available, and every step that this enables.
  void settle(State& state) const {
    const std::size_t m = at(p_.microbatches);
    for (bool moved = true; moved;) {
      moved = false;
      for (int d = 0; d < p_.devices; ++d) {
        if (state.waiting[at(d)] < 0) continue;
        const auto step = static_cast<LaneStep>(state.waiting[at(d)]);
        const int s = stage_of(d, step);
        const Part pass = part_of(step);
        const Ticks input = arrival(state, s, pass);
        if (input == kNoTime) continue;
        Ticks& free = state.free[at(d)];
        free = std::max(free, input) + length(d, step);
        const auto k = static_cast<std::size_t>(state.done[3 * at(s) + pass]++);
        if (pass == kForward) state.forward_end[at(s) * m + k] = free;
        if (pass == kInput) state.input_end[at(s) * m + k] = free;
        state.held[at(d)] += p_.change[pass][at(s)];
        state.left[at(d)] -= length(d, step);
        state.waiting[at(d)] = -1;
        moved = true;
      }
    }
  }

  Ticks bound_of(const State& state) const {
    Ticks bound = 0;
    for (int d = 0; d < p_.devices; ++d) {
      const Ticks tail = tails_.weight[at(p_.stage_at(d, 0))];
      Ticks start = state.free[at(d)];
      if (state.waiting[at(d)] >= 0) {
        const auto step = static_cast<LaneStep>(state.waiting[at(d)]);
        start = earliest(state, stage_of(d, step), part_of(step));
      }
      bound = std::max(bound, start + state.left[at(d)] + tail);
      // The gradients that have yet to come, and the weight gradients after them.
      Ticks first = kNever, work = 0;
      for (int c = 0; c < p_.chunks; ++c) {
        const int s = p_.stage_at(d, c);
        const Ticks inputs = p_.microbatches - state.done[3 * at(s) + kInput],
                    forwards = p_.microbatches - state.done[3 * at(s) + kForward];
        if (inputs == 0) continue;
        const Ticks when = earliest(state, s, kInput);
        first = std::min(first, when);
        work += inputs * (p_.time[kInput][at(s)] + p_.time[kWeight][at(s)]);
        bound = std::max(bound, when + inputs * p_.time[kInput][at(s)] + tails_.input[at(s)]);
        if (forwards > 0)
          bound = std::max(bound, earliest(state, s, kForward) +
                                      forwards * p_.time[kForward][at(s)] + tails_.forward[at(s)]);
      }
      if (work > 0) bound = std::max(bound, first + work + tail);
    }
    return bound;
  }

  // Everything on which the rest of the search depends, with each time taken as late as it still
  // makes no difference.
  std::vector<Ticks> times_of(const State& state) const {
    const std::size_t m = at(p_.microbatches);
    std::vector<Ticks> times;
    Ticks ended = bound_;
    for (int d = 0; d < p_.devices; ++d)
      if (finished(state, d))
        ended = std::max(ended, state.free[at(d)] + tails_.weight[at(p_.stage_at(d, 0))]);
      else
        times.push_back(state.free[at(d)]);
    times.push_back(ended);
    const auto add = [&](int from, int to, Part pass, const std::vector<Ticks>& ends, Ticks hop) {
      // The k-th to arrive cannot begin before those ahead of it have finished.
      Ticks ready = state.free[at(p_.device[at(to)])];
      for (std::int32_t k = state.done[3 * at(to) + pass]; k < state.done[3 * at(from) + pass];
           ++k) {
        const Ticks arrives = ends[at(from) * m + static_cast<std::size_t>(k)] + hop;
        times.push_back(std::max(ready, arrives));
        ready = times.back() + p_.time[pass][at(to)];
      }
    };
    for (int s = 0; s + 1 < p_.stages; ++s) {
      add(s, s + 1, kForward, state.forward_end, p_.hop[at(s)]);
      add(s + 1, s, kInput, state.input_end, p_.hop[at(s)]);
    }
    return times;
  }

  // Returns false if a known state with the same passes done was no later in any respect.
  // Everything below that state has been searched: it cannot be an ancestor of this one, because
  // each step down decides one more pass.
  bool remember(const State& state) {
    std::string key;
    for (const std::int32_t done : state.done) key.push_back(static_cast<char>(done));
    for (const std::int32_t waiting : state.waiting) key.push_back(static_cast<char>(waiting + 1));
    const std::vector<Ticks> times = times_of(state);
    auto& front = seen_[key];
    const auto no_later = [](const std::vector<Ticks>& a, const std::vector<Ticks>& b) {
      return std::equal(a.begin(), a.end(), b.begin(), [](Ticks x, Ticks y) { return x <= y; });
    };
    for (const std::vector<Ticks>& other : front)
      if (no_later(other, times)) return false;
    kept_ -= std::erase_if(front,
                           [&](const std::vector<Ticks>& other) { return no_later(times, other); });
    if (front.size() < kMostFronts && kept_ < kMostKept) front.push_back(times), ++kept_;
    return true;
  }

  const Pipeline& p_;
  Tails tails_;
  Ticks best_, bound_;
  std::int64_t nodes_;
  const std::stop_token& stop_;
  std::vector<Decision> path_;
  std::unordered_map<std::string, std::vector<std::vector<Ticks>>> seen_;
  std::size_t kept_ = 0;
  bool out_of_nodes_ = false;
  Exhausted found_;
};

}  // namespace

Exhausted exhaust(const Pipeline& p, ScheduleObjective objective, Ticks incumbent, Ticks bound,
                  std::int64_t nodes, const std::stop_token& stop) {
  return ExhaustiveSearch(p, objective, incumbent, bound, nodes, stop).run();
}

}  // namespace trainyard

#include "planners/recompute/policy_mix.h"

#include <algorithm>
#include <limits>

#include "core/base/error.h"

namespace trainyard {
namespace {

constexpr std::size_t kMostStates = 20'000;

// A step along the lower hull of a group's policies: more bytes a layer, less time.
struct Segment {
  std::size_t group;
  std::int64_t bytes, saves;
  int from, to;  // policies
  double rate() const { return static_cast<double>(saves) / static_cast<double>(bytes); }
};

// From the policy of fewest bytes to the quickest.
std::vector<int> hull(const std::vector<MixPolicy>& policies) {
  std::vector<int> order;
  for (std::size_t p = 0; p < policies.size(); ++p) order.push_back(static_cast<int>(p));
  const auto of = [&](int p) { return policies[static_cast<std::size_t>(p)]; };
  std::sort(order.begin(), order.end(), [&](int a, int b) {
    return of(a).bytes != of(b).bytes ? of(a).bytes < of(b).bytes
           : of(a).time != of(b).time ? of(a).time < of(b).time
                                      : a < b;
  });
  std::vector<int> chain;
  for (const int p : order) {
    if (!chain.empty() && of(p).time >= of(chain.back()).time) continue;
    const auto slope = [&](int a, int b) {
      return static_cast<double>(of(a).time - of(b).time) /
             static_cast<double>(of(b).bytes - of(a).bytes);
    };
    while (chain.size() > 1 &&
           slope(chain[chain.size() - 2], chain.back()) <= slope(chain.back(), p))
      chain.pop_back();
    chain.push_back(p);
  }
  return chain;
}

class Knapsack {
 public:
  Knapsack(const std::vector<MixGroup>& groups, std::int64_t limit)
      : groups_(groups), limit_(limit) {
    for (std::size_t g = 0; g < groups.size(); ++g) {
      const std::vector<int> chain = hull(groups[g].policies);
      least_.push_back(chain.front());
      for (std::size_t i = 1; i < chain.size(); ++i) {
        const MixPolicy &a = policy(g, chain[i - 1]), &b = policy(g, chain[i]);
        segments_.push_back({g, b.bytes - a.bytes, a.time - b.time, chain[i - 1], chain[i]});
      }
    }
    std::stable_sort(segments_.begin(), segments_.end(),
                     [](const Segment& a, const Segment& b) { return a.rate() > b.rate(); });
    // What all layers from a group on need at least.
    std::int64_t bytes = 0, time = 0;
    rest_bytes_.assign(groups.size() + 1, 0), rest_time_ = rest_bytes_;
    for (std::size_t g = groups.size(); g-- > 0;) {
      bytes += policy(g, least_[g]).bytes * groups[g].layers;
      time += policy(g, least_[g]).time * groups[g].layers;
      rest_bytes_[g] = bytes, rest_time_[g] = time;
    }
  }

  Mix solve(const std::stop_token& stop) {
    Mix mix;
    if (rest_bytes_[0] > limit_) return mix;
    mix.bound = bound(0, groups_.empty() ? 0 : groups_[0].layers, {0, 0});
    round(mix);
    search(mix, stop);
    return mix;
  }

 private:
  struct State {
    std::int64_t bytes = 0, time = 0;
    int before = -1, policy = -1;
  };

  const MixPolicy& policy(std::size_t g, int p) const {
    return groups_[g].policies[static_cast<std::size_t>(p)];
  }

  // Time of a state with so many layers of the group, and all groups after, still to choose, if
  // layers may be divided.
  double bound(std::size_t group, int left, const State& s) const {
    if (group >= groups_.size()) return static_cast<double>(s.time);
    const MixPolicy& least = policy(group, least_[group]);
    const std::int64_t bytes = s.bytes + rest_bytes_[group + 1] + least.bytes * left;
    double time = static_cast<double>(s.time + rest_time_[group + 1] + least.time * left);
    double room = static_cast<double>(limit_ - bytes);
    if (room < 0) return std::numeric_limits<double>::infinity();
    for (const Segment& segment : segments_) {
      if (segment.group < group) continue;
      const double layers = segment.group == group ? left : groups_[segment.group].layers;
      const double share = std::min(layers, room / static_cast<double>(segment.bytes));
      time -= share * static_cast<double>(segment.saves);
      room -= share * static_cast<double>(segment.bytes);
      if (share < layers) break;
    }
    return time;
  }

  // The hull's steps as far as whole layers go: a mix to beat.
  void round(Mix& mix) {
    mix.counts.clear();
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      mix.counts.emplace_back(groups_[g].policies.size(), 0);
      mix.counts[g][static_cast<std::size_t>(least_[g])] = groups_[g].layers;
    }
    mix.bytes = rest_bytes_[0], mix.time = rest_time_[0];
    for (const Segment& s : segments_) {
      int& from = mix.counts[s.group][static_cast<std::size_t>(s.from)];
      const auto layers =
          static_cast<int>(std::min<std::int64_t>(from, (limit_ - mix.bytes) / s.bytes));
      from -= layers;
      mix.counts[s.group][static_cast<std::size_t>(s.to)] += layers;
      mix.bytes += s.bytes * layers, mix.time -= s.saves * layers;
    }
  }

  // Layer by layer: the fronts of bytes and time, less what cannot beat the best any more.
  void search(Mix& mix, const std::stop_token& stop) {
    std::vector<State> pool = {{}};
    std::vector<int> front = {0};
    for (std::size_t g = 0; g < groups_.size(); ++g)
      for (int left = groups_[g].layers; left-- > 0;) {
        if (stop.stop_requested())
          throw Error(Error::Kind::Cancelled, "the search for recomputation was stopped");
        std::vector<State> next;
        for (const int from : front)
          for (std::size_t p = 0; p < groups_[g].policies.size(); ++p) {
            const State& s = pool[static_cast<std::size_t>(from)];
            const State more{s.bytes + groups_[g].policies[p].bytes,
                             s.time + groups_[g].policies[p].time, from, static_cast<int>(p)};
            // A mix is better by one nanosecond at least.
            if (bound(g, left, more) <= static_cast<double>(mix.time) - 1 + 1e-6)
              next.push_back(more);
          }
        thin(next, mix);
        front.clear();
        for (const State& s : next)
          front.push_back(static_cast<int>(pool.size())), pool.push_back(s);
      }
    int best = -1;
    for (const int f : front)
      if (best < 0 ||
          pool[static_cast<std::size_t>(f)].time < pool[static_cast<std::size_t>(best)].time)
        best = f;
    if (best < 0 || pool[static_cast<std::size_t>(best)].time >= mix.time) return;
    take(mix, pool, best);
  }

  static void thin(std::vector<State>& list, Mix& mix) {
    std::stable_sort(list.begin(), list.end(), [](const State& a, const State& b) {
      return a.bytes != b.bytes ? a.bytes < b.bytes : a.time < b.time;
    });
    std::size_t kept = 0;
    for (const State& s : list)
      if (kept == 0 || s.time < list[kept - 1].time) list[kept++] = s;
    list.resize(kept);
    if (kept <= kMostStates) return;
    mix.exact = false;
    for (std::size_t i = 0; i < kMostStates; ++i) list[i] = list[i * kept / kMostStates];
    list.resize(kMostStates);
  }

  void take(Mix& mix, const std::vector<State>& pool, int best) {
    mix.bytes = pool[static_cast<std::size_t>(best)].bytes;
    mix.time = pool[static_cast<std::size_t>(best)].time;
    for (std::vector<int>& counts : mix.counts) std::fill(counts.begin(), counts.end(), 0);
    int s = best;
    for (std::size_t g = groups_.size(); g-- > 0;)
      for (int l = 0; l < groups_[g].layers; ++l) {
        const State& state = pool[static_cast<std::size_t>(s)];
        ++mix.counts[g][static_cast<std::size_t>(state.policy)];
        s = state.before;
      }
  }

  const std::vector<MixGroup>& groups_;
  std::int64_t limit_;
  std::vector<int> least_;  // by group: the policy of fewest bytes
  std::vector<Segment> segments_;
  std::vector<std::int64_t> rest_bytes_, rest_time_;
};

}  // namespace

Mix best_mix(const std::vector<MixGroup>& groups, std::int64_t limit, const std::stop_token& stop) {
  return Knapsack(groups, limit).solve(stop);
}

}  // namespace trainyard

#include "planners/placement/lifetimes.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "core/base/error.h"
#include "planners/index.h"
#include "planners/placement/placement_figures.h"

namespace trainyard {

Lifetimes::Lifetimes(const JobTrace& trace, const PlacementRules& rules,
                     const PlacementSchedule& schedule)
    : trace_(&trace),
      rules_(&rules),
      starts_(schedule),
      lives_(schedule.size()),
      on_(at(rules.nodes.count)) {
  NodeProfile profile = node_profile(trace, rules, schedule);
  const auto segment = [&](Instant when) {
    return static_cast<std::size_t>(
        std::lower_bound(profile.edges.begin(), profile.edges.end(), when) - profile.edges.begin());
  };
  for (std::size_t j = 0; j < schedule.size(); ++j) {
    if (schedule[j].node < 0) continue;
    Life& life = lives_[j];
    life.node = schedule[j].node;
    life.first = segment(schedule[j].start);
    life.last = segment(schedule[j].start + trace.jobs[j].duration);
    on_[at(life.node)].push_back(static_cast<int>(j));
    if (schedule[j].partner < 0) continue;
    Life& other = lives_[at(schedule[j].partner)];
    const Pair pair{schedule[j].partner, static_cast<int>(j), life.first,
                    std::min(life.last, other.last)};
    life.pairs.push_back(pair);
    other.pairs.push_back(pair);
  }
  bytes_ = std::move(profile.bytes), devices_ = std::move(profile.devices);
}

void Lifetimes::change(int node, std::size_t first, std::size_t last, std::int64_t bytes,
                       std::int64_t devices) {
  for (std::size_t i = first; i < last; ++i)
    bytes_[at(node)][i] += bytes, devices_[at(node)][i] += devices;
}

bool Lifetimes::overlaps_pair(const Life& life, std::size_t first, std::size_t last) const {
  return std::any_of(life.pairs.begin(), life.pairs.end(),
                     [&](const Pair& pair) { return pair.first < last && first < pair.last; });
}

// Returns the pairs that the job may form with jobs of the node; those that save most bytes over
// the longest time come first.
std::vector<Lifetimes::Pair> Lifetimes::pairs_on(int job, int node) const {
  if (!rules_->pairs) return {};
  const Life& life = lives_[at(job)];
  struct Candidate {
    Pair pair;
    std::int64_t saved = 0;  // bytes times segments
  };
  std::vector<Candidate> candidates;
  for (const int other : on_[at(node)]) {
    const Life& theirs = lives_[at(other)];
    const std::size_t first = std::max(life.first, theirs.first);
    const std::size_t last = std::min(life.last, theirs.last);
    if (first >= last || overlaps_pair(theirs, first, last)) continue;
    candidates.push_back({{std::min(job, other), std::max(job, other), first, last},
                          trace_->saving(job, other) * static_cast<std::int64_t>(last - first)});
  }
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Candidate& a, const Candidate& b) { return a.saved > b.saved; });
  Life tried;
  for (const Candidate& one : candidates)
    if (one.saved > 0 && !overlaps_pair(tried, one.pair.first, one.pair.last))
      tried.pairs.push_back(one.pair);
  return tried.pairs;
}

void Lifetimes::put(int job, int node, const std::vector<Pair>& pairs) {
  Life& life = lives_[at(job)];
  life.node = node;
  change(node, life.first, life.last, trace_->peak(job), trace_->kind_of(job).devices);
  on_[at(node)].push_back(job);
  for (const Pair& pair : pairs) {
    change(node, pair.first, pair.last, -trace_->saving(pair.earlier, pair.later), 0);
    lives_[at(pair.earlier)].pairs.push_back(pair);
    lives_[at(pair.later)].pairs.push_back(pair);
  }
}

std::vector<Lifetimes::Pair> Lifetimes::take(int job) {
  Life& life = lives_[at(job)];
  change(life.node, life.first, life.last, -trace_->peak(job), -trace_->kind_of(job).devices);
  std::erase(on_[at(life.node)], job);
  std::vector<Pair> pairs = life.pairs;
  for (const Pair& pair : pairs) {
    change(life.node, pair.first, pair.last, trace_->saving(pair.earlier, pair.later), 0);
    Life& other = lives_[at(pair.earlier == job ? pair.later : pair.earlier)];
    std::erase_if(other.pairs, [&](const Pair& one) {
      return one.earlier == pair.earlier && one.later == pair.later;
    });
  }
  life.pairs.clear();
  life.node = -1;
  return pairs;
}

Lifetimes::Trial Lifetimes::try_on(int job, int node) {
  Trial trial;
  trial.pairs = pairs_on(job, node);
  put(job, node, trial.pairs);
  const Life& life = lives_[at(job)];
  trial.fits = true;
  for (std::size_t i = life.first; i < life.last; ++i) {
    trial.peak = std::max(trial.peak, bytes_[at(node)][i]);
    if (devices_[at(node)][i] > rules_->nodes.devices) trial.fits = false;
  }
  if (trial.peak > rules_->nodes.bytes) trial.fits = false;
  take(job);
  return trial;
}

bool Lifetimes::place_anew() {
  std::vector<int> order;
  for (std::size_t j = 0; j < lives_.size(); ++j)
    if (lives_[j].node >= 0) order.push_back(static_cast<int>(j));
  for (const int job : order) take(job);
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return trace_->peak(a) > trace_->peak(b); });
  for (const int job : order) {
    std::optional<Trial> best;
    int node = 0;
    for (int n = 0; n < rules_->nodes.count; ++n) {
      Trial trial = try_on(job, n);
      if (trial.fits && (!best || trial.peak < best->peak)) best = std::move(trial), node = n;
    }
    if (!best) return false;
    put(job, node, best->pairs);
  }
  return true;
}

bool Lifetimes::improve(const std::stop_token& stop, std::int64_t& looked_at) {
  std::int64_t peak = 0;
  int full = 0;
  std::size_t when = 0;
  for (int n = 0; n < rules_->nodes.count; ++n)
    for (std::size_t i = 0; i < bytes_[at(n)].size(); ++i)
      if (bytes_[at(n)][i] > peak) peak = bytes_[at(n)][i], full = n, when = i;
  // Partners that are left raise a node elsewhere too: only what leaves fewer places at the peak is
  // a step, so that steps come to an end.
  const auto at_peak = [&](int node, const Life& life) {
    return std::count_if(bytes_[at(node)].begin() + static_cast<std::ptrdiff_t>(life.first),
                         bytes_[at(node)].begin() + static_cast<std::ptrdiff_t>(life.last),
                         [&](std::int64_t v) { return v >= peak; });
  };
  const auto above_peak = [&](int node, const Life& life) {
    return std::any_of(bytes_[at(node)].begin() + static_cast<std::ptrdiff_t>(life.first),
                       bytes_[at(node)].begin() + static_cast<std::ptrdiff_t>(life.last),
                       [&](std::int64_t v) { return v > peak; });
  };
  const auto runs = [&](int job) {
    return lives_[at(job)].first <= when && when < lives_[at(job)].last;
  };
  std::vector<int> there;
  for (const int job : on_[at(full)])
    if (runs(job)) there.push_back(job);
  for (const int job : there) {
    const Life& life = lives_[at(job)];
    const auto places = at_peak(full, life);
    const std::vector<Pair> before = take(job);
    const bool lower = at_peak(full, life) < places && !above_peak(full, life);
    for (int n = 0; n < rules_->nodes.count; ++n) {
      if (n == full) continue;
      ++looked_at;
      const Trial trial = try_on(job, n);
      if (!lower || !trial.fits || trial.peak >= peak) continue;
      put(job, n, trial.pairs);
      return true;
    }
    put(job, full, before);
  }
  for (const int job : there)
    for (int n = 0; n < rules_->nodes.count; ++n) {
      if (n == full) continue;
      const std::vector<int> others = on_[at(n)];
      for (const int other : others) {
        const Life &a = lives_[at(job)], &b = lives_[at(other)];
        if (b.first >= a.last || a.first >= b.last || trace_->peak(other) >= trace_->peak(job))
          continue;
        if (stop.stop_requested()) throw Error(Error::Kind::Cancelled, "stopped", {"placement"});
        ++looked_at;
        const auto places = at_peak(full, a) + at_peak(full, b) + at_peak(n, a) + at_peak(n, b);
        const std::vector<Pair> mine = take(job), theirs = take(other);
        const Trial there_now = try_on(job, n);
        if (there_now.fits && there_now.peak < peak) {
          const Trial here_now = try_on(other, full);
          if (here_now.fits && here_now.peak < peak) {
            put(job, n, there_now.pairs);
            put(other, full, here_now.pairs);
            if (at_peak(full, a) + at_peak(full, b) + at_peak(n, a) + at_peak(n, b) < places &&
                !above_peak(full, a) && !above_peak(n, b))
              return true;
            take(other), take(job);
          }
        }
        put(other, n, theirs);
        put(job, full, mine);
      }
    }
  return false;
}

std::int64_t Lifetimes::lower_peak(const std::stop_token& stop) {
  std::int64_t looked_at = 0;
  while (improve(stop, looked_at)) continue;
  return looked_at;
}

PlacementSchedule Lifetimes::schedule() const {
  PlacementSchedule schedule = starts_;
  for (std::size_t j = 0; j < lives_.size(); ++j) {
    schedule[j].node = lives_[j].node;
    schedule[j].partner = -1;
    for (const Pair& pair : lives_[j].pairs)
      if (pair.later == static_cast<int>(j)) schedule[j].partner = pair.earlier;
  }
  return schedule;
}

}  // namespace trainyard

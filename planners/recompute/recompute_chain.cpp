#include "planners/recompute/recompute_chain.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "core/base/error.h"
#include "core/base/units_text.h"
#include "planners/index.h"

namespace trainyard {
namespace {

// One way through layers i to j with boundary i kept: it needs so many bytes, that boundary and the
// gradient of boundary j + 1 among them.
struct Way {
  std::int64_t bytes = 0, time = 0;
  std::int32_t split = kAll;  // the layer from which the first sweep goes on; kAll: layer i keeps
                              // its tape at once
  std::int32_t after = -1, before = -1;  // ways of layers split to j, of layers i to split - 1
  static constexpr std::int32_t kAll = -1;
};
using Ways = std::vector<Way>;  // rising bytes, falling time

class Ladder {
 public:
  Ladder(const Chain& chain, std::int64_t limit, std::int64_t unit, const std::stop_token& stop)
      : n_(static_cast<int>(chain.layers.size())), limit_(limit), ways_(at(n_) * at(n_)) {
    const auto units = [&](Bytes b) { return (b.value + unit - 1) / unit; };
    for (const RecomputeLayerCost& layer : chain.layers) {
      boundary_.push_back(units(layer.input));
      tape_.push_back(units(layer.tape));
      forward_.push_back(layer.forward.count());
      backward_.push_back(layer.backward.count());
    }
    boundary_.push_back(units(chain.output));
    for (int length = 1; length <= n_; ++length)
      for (int i = 0; i + length <= n_; ++i) {
        if (stop.stop_requested())
          throw Error(Error::Kind::Cancelled, "the search for a schedule was stopped");
        find(i, i + length - 1);
      }
  }

  const Ways& all() const { return ways(0, n_ - 1); }

  std::vector<ChainAction> actions(std::size_t way) const {
    std::vector<ChainAction> list;
    emit(0, n_ - 1, static_cast<std::int32_t>(way), list);
    return list;
  }

 private:
  Ways& ways(int i, int j) { return ways_[at(i) * at(n_) + at(j)]; }
  const Ways& ways(int i, int j) const { return ways_[at(i) * at(n_) + at(j)]; }
  // The gradient that waits while layers up to j run: none while the last has not run.
  std::int64_t waiting(int j) const { return j + 1 < n_ ? boundary_[at(j + 1)] : 0; }

  // Forward of layer i with its tape, and its backward, when boundary i + 1 has become its
  // gradient.
  std::int64_t own(int i, int j) const {
    const std::int64_t kept = boundary_[at(i)] + tape_[at(i)];
    return kept + boundary_[at(i + 1)] + std::max(waiting(j), boundary_[at(i)]);
  }

  void find(int i, int j) {
    Ways found;
    if (i == j) {
      offer(found, {own(i, j), forward_[at(i)] + backward_[at(i)]});
    } else {
      keep_all(i, j, found);
      std::int64_t sweep = 0, time = 0;
      for (int split = i + 1; split <= j; ++split) {
        const int last = split - 1;
        const std::int64_t input = last > i ? boundary_[at(last)] : 0;
        sweep = std::max(sweep, boundary_[at(i)] + input + boundary_[at(split)] + waiting(j));
        time += forward_[at(last)];
        if (sweep > limit_) break;
        go_on(i, j, split, sweep, time, found);
      }
    }
    keep_best(found);
    ways(i, j) = std::move(found);
  }

  void offer(Ways& found, const Way& way) const {
    if (way.bytes <= limit_) found.push_back(way);
  }

  void keep_all(int i, int j, Ways& found) {
    const Ways& rest = ways(i + 1, j);
    const std::int64_t kept = boundary_[at(i)] + tape_[at(i)], alone = own(i, j);
    for (std::size_t w = 0; w < rest.size(); ++w)
      offer(found, {std::max(alone, kept + rest[w].bytes),
                    forward_[at(i)] + rest[w].time + backward_[at(i)], Way::kAll,
                    static_cast<std::int32_t>(w), -1});
  }

  // Both parts share the limit: walk up through what either of them asks for.
  void go_on(int i, int j, int split, std::int64_t sweep, std::int64_t time, Ways& found) {
    const Ways &after = ways(split, j), &before = ways(i, split - 1);
    if (after.empty() || before.empty()) return;
    const std::int64_t input = boundary_[at(i)];
    std::size_t a = 0, b = 0;
    while (true) {
      offer(found, {std::max({sweep, input + after[a].bytes, before[b].bytes}),
                    time + after[a].time + before[b].time, split, static_cast<std::int32_t>(a),
                    static_cast<std::int32_t>(b)});
      const bool more_a = a + 1 < after.size(), more_b = b + 1 < before.size();
      if (!more_a && !more_b) return;
      if (!more_b || (more_a && input + after[a + 1].bytes <= before[b + 1].bytes))
        ++a;
      else
        ++b;
    }
  }

  static void keep_best(Ways& found) {
    std::stable_sort(found.begin(), found.end(), [](const Way& x, const Way& y) {
      return x.bytes != y.bytes ? x.bytes < y.bytes : x.time < y.time;
    });
    std::size_t kept = 0;
    for (const Way& way : found)
      if (kept == 0 || way.time < found[kept - 1].time) found[kept++] = way;
    found.resize(kept);
    found.shrink_to_fit();
  }

  void emit(int i, int j, std::int32_t index, std::vector<ChainAction>& list) const {
    const Way& way = ways(i, j)[static_cast<std::size_t>(index)];
    if (way.split == Way::kAll) {
      list.push_back({ChainStep::ForwardKeepAll, i});
      if (i < j) emit(i + 1, j, way.after, list);
      list.push_back({ChainStep::Backward, i});
      return;
    }
    list.push_back({ChainStep::ForwardKeepInput, i});
    for (int l = i + 1; l < way.split; ++l) list.push_back({ChainStep::ForwardDrop, l});
    emit(way.split, j, way.after, list);
    emit(i, way.split - 1, way.before, list);
  }

  int n_;
  std::int64_t limit_;
  std::vector<std::int64_t> boundary_, tape_, forward_, backward_;
  std::vector<Ways> ways_;  // by first and last layer
};

void check_chain(const Chain& chain) {
  if (chain.layers.empty())
    throw Error(Error::Kind::InvalidInput, "expected a chain of at least one layer, found none");
  for (const RecomputeLayerCost& l : chain.layers)
    if (l.input.value < 0 || l.tape.value < 0 || l.forward.count() < 0 || l.backward.count() < 0)
      throw Error(Error::Kind::InvalidInput,
                  fmt::format("expected times and bytes of at least 0, found less in layer {}",
                              &l - chain.layers.data()));
}

std::int64_t unit_of_memory(Bytes limit, const ChainOptions& options) {
  if (options.parts <= 0) return 1;
  return std::max<std::int64_t>(1, (limit.value + options.parts - 1) / options.parts);
}

}  // namespace

ChainSchedule best_chain_schedule(const Chain& chain, Bytes limit, const ChainOptions& options) {
  check_chain(chain);
  const std::int64_t unit = unit_of_memory(limit, options);
  const Ladder ladder(chain, limit.value / unit, unit, options.stop);
  if (ladder.all().empty()) {
    const Ladder any(chain, INT64_MAX / 8, unit, options.stop);
    throw Error(Error::Kind::InvalidInput,
                fmt::format("no schedule fits in {}: the least needs {}", readable(limit),
                            readable(Bytes{any.all().front().bytes * unit})));
  }
  ChainSchedule best;
  best.actions = ladder.actions(ladder.all().size() - 1);
  const ChainRun run = run_chain(chain, best.actions);
  best.time = run.time, best.peak = run.peak;
  return best;
}

std::vector<ChainPoint> chain_front(const Chain& chain, Bytes limit, const ChainOptions& options) {
  check_chain(chain);
  const std::int64_t unit = unit_of_memory(limit, options);
  const Ladder ladder(chain, limit.value / unit, unit, options.stop);
  std::vector<ChainPoint> front;
  for (const Way& way : ladder.all())
    front.push_back({Bytes{way.bytes * unit}, Duration{way.time}});
  return front;
}

}  // namespace trainyard

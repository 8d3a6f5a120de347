#include "core/memory/arena_solver.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/memory/arena_search.h"
#include "core/memory/best_fit.h"

namespace trainyard {
namespace {

// Larger parts are left to best fit, because the depth of a search is the number of buffers.
constexpr std::size_t kMostSearched = 1500;

// The orders take turns, because each finds quickly what another does not find in a long time.
// Their sequence is by success on published instances.
constexpr std::array kTurns = {
    SearchOrder{SectionChoice::Lowest, BufferChoice::LargestArea},
    SearchOrder{SectionChoice::Fewest, BufferChoice::Widest},
    SearchOrder{SectionChoice::Fewest, BufferChoice::Largest},
    SearchOrder{SectionChoice::Lowest, BufferChoice::Widest},
    SearchOrder{SectionChoice::Tightest, BufferChoice::Largest},
    SearchOrder{SectionChoice::Fewest, BufferChoice::LargestArea},
    SearchOrder{SectionChoice::Tightest, BufferChoice::Widest},
    SearchOrder{SectionChoice::Lowest, BufferChoice::Largest},
    SearchOrder{SectionChoice::Tightest, BufferChoice::LargestArea},
};
// Every other round prefers late sections; after two rounds ranks are randomised and runs are twice
// as long.
constexpr std::array kSpreads = {0.0, 0.5, 2.0};

struct Solving {
  const ArenaPart* part = nullptr;
  std::vector<std::int64_t> offsets{};  // the best known placement
  std::int64_t reach = 0;
  std::string found_by{};
};

void take(Solving& solving, std::vector<std::int64_t> offsets, std::string found_by) {
  std::int64_t reach = 0;
  for (std::size_t i = 0; i < offsets.size(); ++i)
    reach = std::max(reach, offsets[i] + solving.part->buffers[i].bytes.value);
  if (!solving.offsets.empty() && reach >= solving.reach) return;
  solving.offsets = std::move(offsets);
  solving.reach = reach;
  solving.found_by = std::move(found_by);
}

// The first orders are good and cost the least.
Solving fitted(const ArenaPart& part, bool all_orders) {
  Solving solving{.part = &part};
  for (const FitOrder order : kFitOrders) {
    std::vector<std::int64_t> offsets;
    for (const Bytes offset : best_fit(part.buffers, order, Bytes{1}).offsets)
      offsets.push_back(offset.value);
    take(solving, std::move(offsets), "best fit " + std::string(to_string(order)));
    const bool last = !all_orders && order == FitOrder::BySizeThenBeginning;
    if (solving.reach == part.lower_bound || last) break;
  }
  return solving;
}

struct Nodes {
  std::int64_t left = 0, used = 0;
};

struct Effort {
  std::int64_t run = 0;  // nodes of one run at first
  std::int64_t all = 0;  // nodes of all runs
};

// Runs the orders in turns until one of them finds a placement within the capacity or proves that
// there is none.
SearchEnd search(Solving& solving, std::int64_t capacity, Effort effort, Nodes& nodes,
                 const std::stop_token& stop) {
  if (solving.part->lower_bound > capacity) return SearchEnd::Impossible;
  if (solving.part->buffers.size() > kMostSearched) return SearchEnd::OutOfNodes;
  ArenaSearch search(*solving.part, capacity);
  SearchEnd end = SearchEnd::OutOfNodes;
  const std::int64_t most = std::min(effort.all, nodes.left);
  for (std::uint64_t turn = 0; end == SearchEnd::OutOfNodes && search.nodes() < most; ++turn) {
    const std::uint64_t round = turn / kTurns.size();
    SearchOrder order = kTurns[turn % kTurns.size()];
    order.latest = round % 2 == 1;
    order.spread = kSpreads[round / 2 % kSpreads.size()];
    order.seed = round;
    const std::int64_t length = effort.run << std::min<std::uint64_t>(round / 2, 32);
    end = search.run(order, std::min(length, most - search.nodes()), stop);
    if (end == SearchEnd::Found) take(solving, search.offsets(), "search: " + to_string(order));
  }
  nodes.left -= search.nodes();
  nodes.used += search.nodes();
  return end;
}

class Solver {
 public:
  Solver(const ArenaParts& parts, const ArenaOptions& options) : options_(options) {
    nodes_.left = options.nodes;
    for (const ArenaPart& part : parts.parts) {
      solving_.push_back(fitted(part, options.nodes > 0 && part.buffers.size() <= kMostSearched));
      low_ = std::max(low_, part.lower_bound);
      buffers_ = std::max(buffers_, static_cast<std::int64_t>(part.buffers.size()));
    }
  }

  // Tries to bring every part within the capacity; effort is per part.
  SearchEnd within(std::int64_t capacity, Effort effort) {
    SearchEnd all = SearchEnd::Found;
    for (Solving& solving : solving_) {
      if (solving.reach <= capacity) continue;
      const SearchEnd end = search(solving, capacity, effort, nodes_, options_.stop);
      if (end == SearchEnd::Impossible) low_ = std::max(low_, capacity + 1);
      if (end != SearchEnd::Found) all = end;
      if (end == SearchEnd::Impossible) break;
    }
    return all;
  }

  void within_capacity(std::int64_t capacity) {
    within(capacity, {std::max<std::int64_t>(1000, 4 * buffers_), options_.nodes});
  }

  // Tries the lower bound first, which is reached most often, then capacities between what failed
  // or is impossible and what fits. It makes sweep after sweep with more effort, none of which
  // depends on the total number of nodes.
  void least() {
    std::int64_t run = std::max<std::int64_t>(64, 3 * buffers_ / 2), runs = 3;
    for (; low_ < reach() && nodes_.left > 0; run *= 2, runs += 6) {
      std::int64_t from = low_;
      for (std::int64_t capacity = low_; from < reach() && nodes_.left > 0;
           capacity = from + (reach() - 1 - from) / 2)
        if (within(capacity, {run, runs * run}) != SearchEnd::Found)
          from = std::max(low_, capacity + 1);
      if (buffers_ > static_cast<std::int64_t>(kMostSearched)) break;
    }
  }

  std::int64_t reach() const {
    std::int64_t reach = 0;
    for (const Solving& solving : solving_) reach = std::max(reach, solving.reach);
    return reach;
  }
  // Returns which method placed the highest part.
  std::string found_by() const {
    for (const Solving& solving : solving_)
      if (solving.reach == reach()) return solving.found_by;
    return "nothing to place";
  }
  std::int64_t low() const { return low_; }
  const std::vector<Solving>& solving() const { return solving_; }
  const Nodes& nodes() const { return nodes_; }

 private:
  const ArenaOptions& options_;
  std::vector<Solving> solving_;
  Nodes nodes_;
  std::int64_t low_ = 0;      // no placement reaches less
  std::int64_t buffers_ = 0;  // of the largest part
};

}  // namespace

double SolvedArena::gap() const {
  return lower_bound.value > 0 ? static_cast<double>((reach - lower_bound).value) /
                                     static_cast<double>(lower_bound.value)
                               : 0;
}

SolvedArena solve_arena(std::span<const Lifetime> lives, const ArenaOptions& options) {
  const ArenaParts parts = arena_parts(lives, options.alignment);
  Solver solver(parts, options);
  if (options.capacity)
    solver.within_capacity(options.capacity->value / parts.unit);
  else
    solver.least();

  SolvedArena solved;
  solved.offsets.assign(lives.size(), Bytes{});
  for (const Solving& solving : solver.solving())
    for (std::size_t i = 0; i < solving.offsets.size(); ++i)
      solved.offsets[solving.part->of[i]] = Bytes{solving.offsets[i] * parts.unit};
  solved.reach = Bytes{solver.reach() * parts.unit};
  solved.lower_bound = Bytes{solver.low() * parts.unit};
  solved.fits = !options.capacity || solved.reach <= *options.capacity;
  solved.nodes = solver.nodes().used;
  solved.found_by = solver.found_by();
  return solved;
}

}  // namespace trainyard

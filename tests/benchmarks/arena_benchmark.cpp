// Runs the arena solver on the instances that MiniMalloc (Moffitt, ASPLOS 2023) publishes as hard,
// at their capacity and without one until it stops improving. theirs = seconds of its authors'
// program on the same machine (median of 3, one thread); faster = theirs over our CPU time.
#include <benchmark/benchmark.h>

#include <ctime>

#include "core/io/bytes/files.h"
#include "core/io/documents/arena_csv.h"
#include "core/memory/arena_solver.h"
#include "core/memory/best_fit.h"

namespace trainyard {
namespace {

struct Row {
  const char* name;
  double seconds;
};
constexpr Row kRows[] = {{"A", 3.61}, {"B", 2.54}, {"C", 0.52}, {"D", 1.83},
                         {"E", 2.65}, {"F", 4.11}, {"G", 0.96}, {"H", 1.32},
                         {"I", 2.99}, {"J", 0.78}, {"K", 0.51}};

std::vector<Lifetime> lives_of(const Row& row) {
  const std::string path =
      std::string(TRAINYARD_SOURCE_DIR) + "/tests/memory/minimalloc/" + row.name + ".1048576.csv";
  return parse_arena_csv(read_file(path), path).lives;
}

void solve_row(benchmark::State& state, const Row& row, bool at_capacity) {
  const std::vector<Lifetime> lives = lives_of(row);
  ArenaOptions options;
  if (at_capacity) options.capacity = Bytes{1 << 20};
  options.nodes = 20'000;
  SolvedArena solved;
  std::int64_t times = 0;
  const std::clock_t start = std::clock();
  for (auto _ : state) {
    solved = solve_arena(lives, options);
    ++times;
  }
  const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC /
                         static_cast<double>(std::max<std::int64_t>(times, 1));
  if (!solved.fits) state.SkipWithError("does not fit");
  if (at_capacity) {
    state.counters["theirs"] = row.seconds;
    state.counters["faster"] = row.seconds / seconds;
  }
  state.counters["reach"] = static_cast<double>(solved.reach.value);
  state.counters["bound"] = static_cast<double>(solved.lower_bound.value);
  state.counters["gap_percent"] = 100 * solved.gap();
  state.counters["nodes"] = static_cast<double>(solved.nodes);
}

void fit_row(benchmark::State& state, const Row& row) {
  const std::vector<Lifetime> lives = lives_of(row);
  Placement1D placed;
  for (auto _ : state) placed = place(lives);
  state.counters["over_bound_percent"] =
      100 *
      (static_cast<double>(placed.reach.value) / static_cast<double>(placed.lower_bound.value) - 1);
}

[[maybe_unused]] const int kRegistered = [] {
  for (const Row& row : kRows)
    benchmark::RegisterBenchmark(("capacity/" + std::string(row.name)).c_str(), solve_row, row,
                                 true)
        ->Unit(benchmark::kMillisecond);
  for (const Row& row : kRows)
    benchmark::RegisterBenchmark(("least_reach/" + std::string(row.name)).c_str(), solve_row, row,
                                 false)
        ->Unit(benchmark::kMillisecond)
        ->Iterations(1);
  for (const Row& row : kRows)
    benchmark::RegisterBenchmark(("best_fit/" + std::string(row.name)).c_str(), fit_row, row)
        ->Unit(benchmark::kMillisecond);
  return 0;
}();

}  // namespace
}  // namespace trainyard

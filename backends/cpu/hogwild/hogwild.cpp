#include "backends/cpu/hogwild/hogwild.h"

#include <algorithm>
#include <atomic>
#include <barrier>
#include <cmath>
#include <mutex>
#include <numeric>
#include <thread>

#include "core/base/clock.h"
#include "core/base/random.h"

namespace trainyard {
namespace {

constexpr std::size_t kMostStale = 1024;

// All ways of sharing run this one loop, so that their speeds differ by nothing else. A relaxed
// read or write of a float is an ordinary instruction; only the compiler may not merge several.
float read_weight(float& weight) {
  return std::atomic_ref<float>(weight).load(std::memory_order_relaxed);
}
void write_weight(float& weight, float value) {
  std::atomic_ref<float>(weight).store(value, std::memory_order_relaxed);
}

void update(const SparseSamples& samples, std::size_t i, float rate, std::span<float> weights) {
  const std::size_t first = samples.first[i], end = samples.first[i + 1];
  float margin = 0;
  for (std::size_t k = first; k < end; ++k)
    margin += read_weight(weights[samples.features[k]]) * samples.values[k];
  const float step = rate * (samples.labels[i] - 1 / (1 + std::exp(-margin)));
  for (std::size_t k = first; k < end; ++k) {
    float& weight = weights[samples.features[k]];
    write_weight(weight, read_weight(weight) + step * samples.values[k]);
  }
}

// The order of an epoch: samples sorted by a number that is drawn for each.
std::vector<std::uint32_t> epoch_order(std::size_t samples, std::uint64_t seed, int epoch) {
  const Random random(seed, 16 + static_cast<std::uint64_t>(epoch));
  std::vector<std::uint64_t> drawn(samples);
  for (std::size_t i = 0; i < samples; ++i) drawn[i] = random.bits(i);
  std::vector<std::uint32_t> order(samples);
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return drawn[a] != drawn[b] ? drawn[a] < drawn[b] : a < b;
  });
  return order;
}

// A team has what threads share beside the weights.
struct Team {
  const SparseSamples& samples;
  std::span<float> weights;
  const SharedTraining& how;
  std::mutex lock;
  alignas(64) std::atomic<std::int64_t> ended = 0;

  void take(std::size_t sample, std::vector<std::int64_t>& staleness) {
    const std::int64_t before = how.counts_staleness ? ended.load(std::memory_order_relaxed) : 0;
    {
      std::unique_lock turn(lock, std::defer_lock);
      if (how.how == Sharing::Locked) turn.lock();
      update(samples, sample, how.rate, weights);
    }
    if (!how.counts_staleness) return;
    const std::int64_t others = ended.fetch_add(1, std::memory_order_relaxed) - before;
    ++staleness[std::min(static_cast<std::size_t>(others), kMostStale)];
  }
};

}  // namespace

SharedRun train_shared(const SparseSamples& samples, std::span<float> weights,
                       const SharedTraining& how) {
  const auto threads = static_cast<std::size_t>(how.how == Sharing::Alone ? 1 : how.threads);
  Team team{samples, weights, how, {}, 0};
  std::vector<std::vector<std::int64_t>> staleness(
      threads, std::vector<std::int64_t>(how.counts_staleness ? kMostStale + 1 : 0));
  const SteadyClock clock;
  SharedRun run;
  for (int epoch = 0; epoch < how.epochs && !how.stop.stop_requested(); ++epoch) {
    const std::vector<std::uint32_t> order = epoch_order(samples.size(), how.seed, epoch);
    std::barrier<> start(static_cast<std::ptrdiff_t>(threads));
    std::vector<Instant> began(threads), ended(threads);
    std::vector<std::jthread> workers;
    for (std::size_t t = 0; t < threads; ++t)
      workers.emplace_back([&, t] {
        start.arrive_and_wait();
        began[t] = clock.now();
        for (std::size_t i = t; i < order.size(); i += threads) team.take(order[i], staleness[t]);
        ended[t] = clock.now();
      });
    workers.clear();  // waits for them
    run.time += *std::max_element(ended.begin(), ended.end()) -
                *std::min_element(began.begin(), began.end());
    run.updates += static_cast<std::int64_t>(order.size());
  }
  if (!how.counts_staleness) return run;
  run.staleness.resize(kMostStale + 1);
  for (const std::vector<std::int64_t>& of : staleness)
    for (std::size_t s = 0; s < of.size(); ++s) run.staleness[s] += of[s];
  while (!run.staleness.empty() && run.staleness.back() == 0) run.staleness.pop_back();
  return run;
}

}  // namespace trainyard

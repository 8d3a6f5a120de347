#include "backends/cpu/calibration/timed_exchange.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <string>

namespace trainyard {
namespace {

int repeats_of(std::int64_t bytes) { return bytes <= 1 << 16 ? 41 : bytes <= 4 << 20 ? 15 : 5; }

}  // namespace

std::vector<Duration> timed_exchange(Processes& processes, std::int64_t bytes,
                                     const std::function<void()>& exchange, int in_a_row) {
  constexpr int kUnused = 2;  // the first ones meet memory that was never touched
  const int repeats = repeats_of(bytes);
  std::string own;
  for (int i = 0; i < kUnused + repeats; ++i) {
    processes.wait(*processes.barrier());
    const auto start = std::chrono::steady_clock::now();
    for (int k = 0; k < in_a_row; ++k) exchange();
    const std::int64_t took = Duration(std::chrono::steady_clock::now() - start).count() / in_a_row;
    if (i >= kUnused) own.append(reinterpret_cast<const char*>(&took), sizeof took);
  }
  std::vector<Duration> slowest(static_cast<std::size_t>(repeats));
  for (const std::string& all : processes.all_gather(own))
    for (std::size_t i = 0; i < slowest.size(); ++i) {
      std::int64_t took = 0;
      std::memcpy(&took, all.data() + i * sizeof took, sizeof took);
      slowest[i] = std::max(slowest[i], Duration{took});
    }
  return slowest;
}

}  // namespace trainyard

#include "backends/cpu/calibration/collective_times.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>
#include <thread>

#include "backends/cpu/calibration/timed_exchange.h"

namespace trainyard {
namespace {

constexpr std::int64_t kElementBytes = 4;

// Short exchanges run several times in a row, so that leaving the barrier one after another counts
// little.
int in_a_row(std::int64_t bytes) {
  return static_cast<int>(
      std::clamp<std::int64_t>((1 << 18) / std::max<std::int64_t>(bytes, 1), 1, 16));
}

// Messages and collectives are held against each other, so both count as on a machine that does
// nothing else, whose work would only add to them.
Duration fastest_exchange(Processes& processes, std::int64_t bytes,
                          const std::function<void()>& exchange) {
  const std::vector<Duration> times = timed_exchange(processes, bytes, exchange, in_a_row(bytes));
  return *std::min_element(times.begin(), times.end());
}

std::span<std::byte> as_bytes_of(std::vector<float>& values, std::int64_t first,
                                 std::int64_t count) {
  return std::as_writable_bytes(std::span(values.data() + first, static_cast<std::size_t>(count)));
}

void add_to(float* sum, const float* other, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) sum[i] += other[i];
}

// The messages of one rank, round by round.
class CollectiveRunner {
 public:
  CollectiveRunner(Processes& processes, const CollectiveHops& collective) : processes_(processes) {
    const auto own = static_cast<std::size_t>(processes.rank());
    for (const Hop& hop : collective.hops) {
      if (hop.from != own && hop.to != own) continue;
      if (rounds_.empty() || rounds_.back().number != hop.round)
        rounds_.push_back({hop.round, {}, {}});
      (hop.from == own ? rounds_.back().sent : rounds_.back().received) = hop;
    }
  }

  void run(std::vector<float>& values, std::vector<float>& arrived) {
    for (const Round& round : rounds_) {
      const Hop &out = round.sent, &in = round.received;
      TransferPtr sending, receiving;
      if (in.count > 0)
        receiving = processes_.receive(
            static_cast<int>(in.from), round.number,
            in.adds ? as_bytes_of(arrived, 0, in.count) : as_bytes_of(values, in.first, in.count));
      if (out.count > 0)
        sending = processes_.send(static_cast<int>(out.to), round.number,
                                  as_bytes_of(values, out.first, out.count));
      if (receiving != nullptr) processes_.wait(*receiving);
      if (sending != nullptr) processes_.wait(*sending);
      if (in.adds) add_to(values.data() + in.first, arrived.data(), in.count);
    }
  }

 private:
  struct Round {
    int number = 0;
    Hop sent, received;
  };
  Processes& processes_;
  std::vector<Round> rounds_;
};

// Values that differ by rank and element and are positive, so that no sum is small beside its
// terms. They fill the mantissa, so that sums in another order round otherwise.
float value_of(std::size_t rank, std::size_t element) {
  return static_cast<float>(1 + (element * 2654435761U + rank * 40503U) % 1021) / 1021.0F;
}

double error_of_sums(Processes& processes, CollectiveRunner& runner, std::vector<float>& values,
                     std::vector<float>& arrived) {
  const auto rank = static_cast<std::size_t>(processes.rank());
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = value_of(rank, i);
  runner.run(values, arrived);
  double worst = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    double sum = 0;
    for (int r = 0; r < processes.count(); ++r)
      sum += static_cast<double>(value_of(static_cast<std::size_t>(r), i));
    worst = std::max(worst, std::abs(static_cast<double>(values[i]) / sum - 1));
  }
  return worst;
}

double largest_of_all(Processes& processes, double own) {
  std::vector<double> all(static_cast<std::size_t>(processes.count()), 0.0);
  all[static_cast<std::size_t>(processes.rank())] = own;
  processes.sum(all);
  return *std::max_element(all.begin(), all.end());
}

Duration ping_pong(Processes& processes, std::vector<float>& memory, std::int64_t bytes) {
  const int rank = processes.rank();
  const auto message = as_bytes_of(memory, 0, bytes / kElementBytes);
  const auto send = [&] { processes.wait(*processes.send(1 - rank, 0, message)); };
  const auto receive = [&] { processes.wait(*processes.receive(1 - rank, 0, message)); };
  const auto there_and_back = [&] {
    if (rank == 0) send(), receive();
    if (rank == 1) receive(), send();
  };
  return fastest_exchange(processes, bytes, there_and_back) / 2;
}

Duration round_of_all(Processes& processes, std::vector<float>& memory, std::vector<float>& other,
                      std::int64_t bytes) {
  const int rank = processes.rank(), count = processes.count();
  const auto out = as_bytes_of(memory, 0, bytes / kElementBytes),
             in = as_bytes_of(other, 0, bytes / kElementBytes);
  return fastest_exchange(processes, bytes, [&] {
    const TransferPtr receiving = processes.receive((rank + count - 1) % count, 0, in);
    const TransferPtr sending = processes.send((rank + 1) % count, 0, out);
    processes.wait(*receiving);
    processes.wait(*sending);
  });
}

}  // namespace

CollectiveStudy measure_collectives(Processes& processes, std::span<const Bytes> sizes,
                                    const std::function<void(double)>& progress) {
  CollectiveStudy study;
  study.ranks = processes.count(), study.on_this_machine = processes.on_this_machine();
  study.cores = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  std::vector<CollectiveAlgorithm> algorithms;
  for (int i = 0; i <= static_cast<int>(CollectiveAlgorithm::InNetwork); ++i)
    if (!no_hops(CollectiveKind::AllReduce, static_cast<CollectiveAlgorithm>(i), study.ranks))
      algorithms.push_back(static_cast<CollectiveAlgorithm>(i));
  std::int64_t most = 0;
  for (const Bytes size : sizes) most = std::max(most, size.value);
  std::vector<float> values(static_cast<std::size_t>(most / kElementBytes)), arrived(values.size());
  const double steps = 1.0 + static_cast<double>(algorithms.size());
  for (std::int64_t bytes = 1 << 10; bytes <= most; bytes *= 2) {
    const auto add = [&] { add_to(values.data(), arrived.data(), bytes / kElementBytes); };
    study.alone.push_back({Bytes{bytes}, ping_pong(processes, values, bytes)});
    study.busy.push_back({Bytes{bytes}, round_of_all(processes, values, arrived, bytes)});
    study.adding.push_back({Bytes{bytes}, fastest_exchange(processes, bytes, add)});
  }
  double done = 1;
  for (const CollectiveAlgorithm algorithm : algorithms) {
    for (const Bytes size : sizes) {
      const std::int64_t elements = size.value / kElementBytes;
      values.resize(static_cast<std::size_t>(elements));
      CollectiveRunner runner(
          processes, collective_hops(CollectiveKind::AllReduce, algorithm, study.ranks, elements));
      study.sum_error =
          std::max(study.sum_error, error_of_sums(processes, runner, values, arrived));
      // Sums of sums would grow beyond all bounds; zeros take as long.
      std::fill(values.begin(), values.end(), 0.0F);
      const Duration took =
          fastest_exchange(processes, size.value, [&] { runner.run(values, arrived); });
      study.rows.push_back({algorithm, size, took, {}, {}});
    }
    progress(++done / steps);
  }
  study.sum_error = largest_of_all(processes, study.sum_error);
  return study;
}

}  // namespace trainyard

#include "backends/cpu/calibration/calibrate.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "backends/cpu/calibration/rehearsal.h"
#include "backends/cpu/calibration/variants.h"
#include "core/base/error.h"
#include "core/base/processor_time.h"
#include "core/cost/kernel_times.h"
#include "core/cost/kernels/variant_ranking.h"

namespace trainyard {
namespace {

// Compares whole steps that were held back with their prediction from the other steps' times.
class HeldBack {
 public:
  explicit HeldBack(const KernelTable& table) {
    for (const auto& [key, m] : table) medians_[key] = quantile(m.times, 0.5);
  }
  void run(Rehearsal& rehearsal) {
    std::int64_t predicted = 0, measured = 0;
    rehearsal.run([&](const Work& work, Duration took) {
      measured += took.count();
      predicted += medians_.at(kernel_place(work));
    });
    if (measured <= 0) return;
    predicted_.push_back(predicted), measured_.push_back(measured);
  }
  /// The relative error of the median step.
  double error() const {
    if (measured_.empty()) return 0;
    return std::abs(static_cast<double>(quantile(predicted_, 0.5)) /
                        static_cast<double>(quantile(measured_, 0.5)) -
                    1);
  }

 private:
  std::map<KernelPlace, std::int64_t> medians_;
  std::vector<std::int64_t> predicted_, measured_;
};

constexpr Bytes kMostOperands = 768_MiB;  // limit for one rehearsal
constexpr int kLeastPasses = 3;
constexpr int kVariantsShare = 4;  // of the box: a quarter is for variants of kernels

using SteadyClock = std::chrono::steady_clock;

double elapsed_share(SteadyClock::time_point start, Duration box) {
  return std::min(1.0, std::chrono::duration<double>(SteadyClock::now() - start).count() /
                           std::max(1e-9, to_seconds(box)));
}

double time_of(const std::function<void()>& work) {
  work();  // warms pages and caches
  std::vector<std::int64_t> times;
  for (int i = 0; i < 9; ++i) {
    const Duration before = thread_processor_time();
    work();
    times.push_back((thread_processor_time() - before).count());
  }
  return static_cast<double>(std::max<std::int64_t>(1, quantile(times, 0.5)));
}

// Adds the kernel times of one workload to the table and returns the error for the steps that were
// held back. `done` returns the fraction of the workload's time that has passed.
double rehearse(const Workload& workload, const VariantChooser& variants, KernelTable& table,
                const std::stop_token& stop, const std::function<double()>& done) {
  Rehearsal rehearsal(workload, kMostOperands);
  rehearsal.choose_by(&variants);
  rehearsal.run([](const Work&, Duration) {});  // creates oneDNN's kernels
  KernelTable own;
  for (int pass = 0; pass < kLeastPasses || done() < 0.75; ++pass) {
    if (stop.stop_requested()) {
      if (pass > 0) break;
      throw Error(Error::Kind::Cancelled, "stopped before everything was measured once");
    }
    rehearsal.run([&own](const Work& work, Duration took) {
      KernelTimes& m = own[kernel_place(work)];
      m.work = work;
      m.times.push_back(took.count());
    });
  }
  HeldBack held_back(own);
  for (int pass = 0; pass < 1 || (done() < 1 && !stop.stop_requested()); ++pass)
    held_back.run(rehearsal);
  for (const auto& [key, m] : own) {
    KernelTimes& into = table[key];
    into.work = m.work;
    into.times.insert(into.times.end(), m.times.begin(), m.times.end());
  }
  return held_back.error();
}

// Kernels are timed afterwards as they then run: in the variants that these timings choose.
std::vector<VariantTiming> variants_of(std::span<const Workload> workloads, Duration box,
                                       const std::stop_token& stop) {
  const ShapeRecorder recorder;
  for (const Workload& workload : workloads) {
    if (stop.stop_requested()) return {};
    Rehearsal rehearsal(workload, kMostOperands);
    rehearsal.choose_by(&recorder);
    rehearsal.run([](const Work&, Duration) {});
  }
  return measure_variants(recorder.asked(), box, stop);
}

}  // namespace

TransferTiming measure_copies() {
  // The arenas exceed the caches: every size walks through 32 MiB of each.
  constexpr std::size_t kArena = std::size_t{32} << 20;
  std::vector<std::byte> from(kArena, std::byte{1}), to(kArena);
  double sx = 0, sy = 0, sxx = 0, sxy = 0, sw = 0;
  for (std::size_t bytes = 4096; bytes <= (std::size_t{16} << 20); bytes *= 4) {
    std::size_t at = 0;
    const std::size_t times = std::max<std::size_t>(1, (std::size_t{1} << 20) / bytes);
    const double took = time_of([&] {
                          for (std::size_t i = 0; i < times; ++i) {
                            std::memcpy(to.data() + at, from.data() + at, bytes);
                            at = (at + bytes) % (kArena - bytes + 1);
                          }
                        }) /
                        static_cast<double>(times);
    // Errors are relative to the time, so a point's weight is the inverse square of its time.
    const double weight = 1 / (took * took), x = static_cast<double>(bytes);
    sw += weight, sx += weight * x, sy += weight * took, sxx += weight * x * x,
        sxy += weight * x * took;
  }
  const double slope = (sw * sxy - sx * sy) / (sw * sxx - sx * sx);  // nanoseconds per byte
  const double start = std::max(0.0, (sy - slope * sx) / sw);
  return {.start = Duration{std::llround(start)}, .rate = {1e9 / slope}};
}

BytesPerSecond measure_reduction() {
  constexpr std::size_t kFloats = std::size_t{1} << 20;
  std::vector<float> sum(kFloats, 1.0F), part(kFloats, 0.5F);
  const double took = time_of([&] {
    for (std::size_t i = 0; i < kFloats; ++i) sum[i] += part[i];
  });
  return {static_cast<double>(kFloats * sizeof(float)) / took * 1e9};
}

std::string describe_machine() {
  std::string name = "a processor without a name";
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.rfind("model name", 0) == 0) {
      name = line.substr(std::min(line.size(), line.find(':') + 2));
      break;
    }
  return fmt::format("{}, {} cores", name, std::max(1U, std::thread::hardware_concurrency()));
}

Calibration calibrate(std::span<const Workload> workloads, const CalibrateOptions& options) {
  Calibration c;
  c.machine = describe_machine();
  const SteadyClock::time_point start = SteadyClock::now();
  c.copy = measure_copies();
  c.reduce = measure_reduction();
  c.overhead = measure_overhead();

  c.variants = variants_of(workloads, options.box / kVariantsShare, options.stop);
  const auto ranking = rank_variants(c.variants);

  KernelTable table;
  std::vector<double> errors;
  for (std::size_t w = 0; w < workloads.size(); ++w) {
    const double from = elapsed_share(start, options.box);
    const double part = (1 - from) / static_cast<double>(workloads.size() - w);
    errors.push_back(rehearse(workloads[w], *ranking, table, options.stop, [&] {
      const double now = elapsed_share(start, options.box);
      if (options.progress) options.progress(now);
      return part > 0 ? (now - from) / part : 1.0;
    }));
  }
  for (const auto& [key, m] : table) c.kernels.push_back(timing_of(m));
  std::sort(errors.begin(), errors.end());
  if (!errors.empty())
    c.residual_median = errors[errors.size() / 2], c.residual_worst = errors.back();
  c.notes.push_back("times are of one thread's processor time; operands as warm as in a step");
  if (options.progress) options.progress(1);
  return c;
}

}  // namespace trainyard

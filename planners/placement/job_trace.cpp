#include "planners/placement/job_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/base/error.h"
#include "core/base/random.h"
#include "core/result/rank_tests.h"

namespace trainyard {
namespace {

constexpr std::int64_t kGigabyte = 1'000'000'000;

// In the mean exp(spread^2 / 2) times the median.
double mean_seconds(const JobKind& kind) {
  return to_seconds(kind.median) * std::exp(kind.spread * kind.spread / 2);
}

void expect_kinds(const TraceQuestion& q) {
  if (q.kinds.empty())
    throw Error(Error::Kind::InvalidInput, "expected at least one kind of job, found none",
                {"placement"});
  const JobKind& widest = *std::max_element(
      q.kinds.begin(), q.kinds.end(),
      [](const JobKind& one, const JobKind& other) { return one.devices < other.devices; });
  if (widest.devices > q.nodes.devices)
    throw Error(Error::Kind::InvalidInput,
                fmt::format("expected at least {}, because a job \"{}\" runs on one node, found {}",
                            widest.devices, widest.name, q.nodes.devices),
                {"devices"});
  const JobKind& largest = *std::max_element(q.kinds.begin(), q.kinds.end(),
                                             [](const JobKind& one, const JobKind& other) {
                                               return peak_of(one.wave) < peak_of(other.wave);
                                             });
  if (const std::int64_t peak = peak_of(largest.wave); peak > q.nodes.bytes)
    throw Error(Error::Kind::InvalidInput,
                fmt::format("expected at least {:.0f} GB, because a job \"{}\" runs on one node, "
                            "found {:.4g} GB",
                            std::ceil(static_cast<double>(peak) / 1e9), largest.name,
                            static_cast<double>(q.nodes.bytes) / 1e9),
                {"memory"});
}

}  // namespace

std::int64_t peak_of(const PhaseWave& wave) { return *std::max_element(wave.begin(), wave.end()); }

PhaseWave triangular_wave(std::int64_t held, std::int64_t activations) {
  PhaseWave wave{};
  constexpr auto kHalf = static_cast<std::int64_t>(kWavePhases / 2);
  for (std::int64_t i = 0; i < 2 * kHalf; ++i)
    wave[static_cast<std::size_t>(i)] =
        held + activations * (i < kHalf ? i + 1 : 2 * kHalf - i) / kHalf;
  return wave;
}

PairedPeak paired_peak(const PhaseWave& a, const PhaseWave& b) {
  PairedPeak best;
  for (std::size_t offset = 0; offset < kWavePhases; ++offset) {
    std::int64_t peak = 0;
    for (std::size_t i = 0; i < kWavePhases; ++i)
      peak = std::max(peak, a[i] + b[(i + kWavePhases - offset) % kWavePhases]);
    if (offset == 0 || peak < best.bytes) best = {peak, static_cast<int>(offset)};
  }
  return best;
}

const PairedPeak& JobTrace::pair(int one, int other) const {
  const auto a = static_cast<std::size_t>(jobs[static_cast<std::size_t>(one)].kind);
  const auto b = static_cast<std::size_t>(jobs[static_cast<std::size_t>(other)].kind);
  return paired[a * kinds.size() + b];
}

std::int64_t JobTrace::saving(int one, int other) const {
  return peak(one) + peak(other) - pair(one, other).bytes;
}

JobTrace make_trace(std::vector<JobKind> kinds, std::vector<TracedJob> jobs) {
  JobTrace trace{std::move(kinds), std::move(jobs), {}};
  for (const JobKind& a : trace.kinds)
    for (const JobKind& b : trace.kinds) trace.paired.push_back(paired_peak(a.wave, b.wave));
  return trace;
}

std::vector<JobKind> stated_kinds() {
  const auto of = [](const char* name, std::int64_t devices, std::int64_t held,
                     std::int64_t activations, double minutes, double spread, double weight) {
    return JobKind{name,
                   devices,
                   triangular_wave(held * kGigabyte, activations * kGigabyte),
                   seconds(60 * minutes),
                   spread,
                   weight};
  };
  return {of("probe", 1, 8, 16, 30, 1, 0.45), of("fine-tuning", 2, 40, 60, 120, 0.8, 0.3),
          of("pre-training", 4, 120, 120, 360, 0.6, 0.08),
          of("evaluation", 1, 20, 180, 15, 0.5, 0.17)};
}

JobTrace draw_trace(const TraceQuestion& q, std::uint64_t number) {
  expect_kinds(q);
  double weights = 0, asked = 0;  // device-seconds of a job, times the weights
  for (const JobKind& kind : q.kinds) {
    weights += kind.weight;
    asked += kind.weight * static_cast<double>(kind.devices) * mean_seconds(kind);
  }
  const double gap =
      asked / weights / (q.load * static_cast<double>(q.nodes.devices) * q.nodes.count);  // s
  const Random random(q.seed, number);
  double at = 0;
  std::vector<TracedJob> jobs;
  for (int j = 0; j < q.jobs; ++j) {
    const auto draw = 3 * static_cast<std::uint64_t>(j);
    at += -gap * std::log(1 - random.uniform(draw));
    double left = weights * random.uniform(draw + 1);
    std::size_t kind = 0;
    while (kind + 1 < q.kinds.size() && left >= q.kinds[kind].weight)
      left -= q.kinds[kind++].weight;
    // The middle of a step of the generator, because neither end has a quantile.
    const double normal =
        normal_quantile(std::min(random.uniform(draw + 2) + 0x1p-54, 1 - 0x1p-53));
    const double taken = to_seconds(q.kinds[kind].median) * std::exp(q.kinds[kind].spread * normal);
    jobs.push_back(
        {static_cast<int>(kind), Instant{seconds(at)}, std::max(Duration{1}, seconds(taken))});
  }
  return make_trace(q.kinds, std::move(jobs));
}

}  // namespace trainyard

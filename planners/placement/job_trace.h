// Jobs that arrive at a cluster over time, each with what it asks for: devices, bytes as a wave
// over one of its steps, and how long it runs.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "core/base/units.h"

namespace trainyard {

/// Bytes that a job holds on all its devices together over one step: the most in each of equal
/// phases.
inline constexpr std::size_t kWavePhases = 16;
using PhaseWave = std::array<std::int64_t, kWavePhases>;

std::int64_t peak_of(const PhaseWave&);
/// `held` bytes at all times, and activations that grow evenly over the first half of the step and
/// go evenly over the second: the wave of a forward pass and its backward pass.
PhaseWave triangular_wave(std::int64_t held, std::int64_t activations);

/// The least peak that two jobs have together when their steps are kept in time with each other,
/// and the phases by which the second one then starts behind the first: the offset of Tick-Tock
/// (Wang et al., "Wavelet", MLSys 2021). Of equal peaks the least offset.
struct PairedPeak {
  std::int64_t bytes = 0;
  int offset = 0;  // in [0, kWavePhases)
};
PairedPeak paired_peak(const PhaseWave&, const PhaseWave&);

/// Jobs of one sort. Durations are log-normal: median * exp(spread * standard normal).
struct JobKind {
  std::string name;
  std::int64_t devices = 1;
  PhaseWave wave{};
  Duration median{};
  double spread = 0;  // >= 0
  double weight = 1;  // how often it arrives, relative to the others, > 0
};

struct PlacedNodes {
  int count = 8;
  std::int64_t devices = 8;  // of each
  std::int64_t bytes = 0;    // of all devices of a node together
};

struct TracedJob {
  int kind = 0;
  Instant arrival{};
  Duration duration{};
};

/// Jobs in order of arrival.
struct JobTrace {
  std::vector<JobKind> kinds;
  std::vector<TracedJob> jobs;
  std::vector<PairedPeak> paired;  // kind * kinds + kind

  const JobKind& kind_of(int job) const {
    return kinds[static_cast<std::size_t>(jobs[static_cast<std::size_t>(job)].kind)];
  }
  std::int64_t peak(int job) const { return peak_of(kind_of(job).wave); }
  /// Returns the bytes by which the peak of two paired jobs is below the sum of their peaks, >= 0.
  std::int64_t saving(int one, int other) const;
  const PairedPeak& pair(int one, int other) const;
};

/// Fills in `paired`.
JobTrace make_trace(std::vector<JobKind>, std::vector<TracedJob>);

/// A stated mix for nodes of 8 devices of 80 GB: probes, fine-tunings, pre-trainings, and
/// evaluations of a large batch, which are short and mostly activations.
std::vector<JobKind> stated_kinds();

struct TraceQuestion {
  std::vector<JobKind> kinds;
  PlacedNodes nodes;
  int jobs = 200;
  double load = 0.6;  // devices that jobs ask for in the mean, as a share of all devices, > 0
  std::uint64_t seed = 1;
};
/// Draws a trace: times between arrivals are exponential, kinds independent of each other and of
/// all before. Traces are functions of the question and `number`. Throws Error{InvalidInput} for a
/// kind that no empty node can take.
JobTrace draw_trace(const TraceQuestion&, std::uint64_t number);

}  // namespace trainyard

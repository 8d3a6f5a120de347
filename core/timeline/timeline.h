// A Timeline says what ran when: one span per instruction, from a simulator or from a real run.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "core/base/ids.h"
#include "core/base/units.h"
#include "core/program/program.h"

namespace trainyard {

/// A Span is half-open: [start, end). Both count from the first instruction of the run, never from
/// a wall clock.
struct Span {
  Instant start{}, end{};
  Duration length() const { return end - start; }
  friend bool operator==(Span, Span) = default;
};

struct Timeline {
  enum class Clock : std::uint8_t { Simulated, Measured } clock = Clock::Simulated;
  std::string backend;
  std::vector<Span> spans;  // one per instruction of the program, by its id
};

/// CategoryBytes holds the bytes of each category, by its number.
using CategoryBytes = std::array<Bytes, kCategories>;
Bytes total(const CategoryBytes&);

/// A MemoryWave is the memory of one device over time: a right-continuous step function. samples[i]
/// holds from its `at` until the next.
struct MemoryWave {
  struct Sample {
    Instant at{};
    CategoryBytes bytes{};
  };
  std::vector<Sample> samples;  // strictly increasing `at`, the first at 0
  std::size_t peak = 0;         // index of the first sample with the largest total
};
/// Returns 0 B where nothing was sampled.
inline Bytes peak_of(const MemoryWave& wave) {
  return wave.samples.empty() ? Bytes{} : total(wave.samples[wave.peak].bytes);
}

}  // namespace trainyard

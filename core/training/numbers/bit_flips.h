// Bits of a training system flip by themselves: a particle or a weak cell turns one over in memory,
// on a link or in a file. A run can be given such flips, in chosen kinds of its state and at a
// chosen rate, memory that corrects some of them, and checks that find others. Which bits flip is a
// function of the step, the tensor and the element alone, so that all plans flip the same ones.
//
// Reagen et al., "Ares: A Framework for Quantifying the Resilience of Deep Neural Networks", DAC
// 2018; Hsiao, "A Class of Optimal Minimum Odd-weight-column SEC-DED Codes", IBM J. R&D 1970.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "core/base/random.h"
#include "core/model/dtype.h"

namespace trainyard {

/// FlipClass is a kind of state whose bits flip.
enum class FlipClass : std::uint8_t {
  Weights,      // between two updates, as the optimizer holds them
  Optimizer,    // its state of an element, between two updates
  Activations,  // outputs of operations, once they are written
  Messages,     // what a pipeline stage sends, and gradients that replicas have summed
  Checkpoints,  // bytes of what is saved, any bit of them
};
inline constexpr std::size_t kFlipClasses = 5;
inline constexpr std::array<std::string_view, kFlipClasses> kFlipClassNames = {
    "weights", "optimizer", "activations", "messages", "checkpoints"};

/// FlipPart says which bits of a number flip. The first bit of an exponent is its highest, the last
/// one of a mantissa its lowest.
enum class FlipPart : std::uint8_t { Any, Sign, Exponent, FirstExponent, Mantissa, LastMantissa };

/// BitFlips are the settings of training that flip bits, find flipped ones, and go back.
struct BitFlips {
  std::array<double, kFlipClasses> rates = {};  // probability that a bit flips in a step, in [0, 1]
  FlipPart part = FlipPart::Any;
  std::int64_t at = 0;                      // the only step in which bits flip; 0 = in every one
  std::array<bool, kFlipClasses> ecc = {};  // the memory corrects one flip in 64 bits
  bool checksums = false, ranges = false, rules = false;  // what looks for flipped bits
  double range = 64;         // ranges: a tensor may grow so many times over its largest number
  std::int64_t recover = 0;  // updates between two states that the run can go back to; 0 = never

  double rate(FlipClass of) const { return rates[static_cast<std::size_t>(of)]; }
  bool corrects(FlipClass of) const { return ecc[static_cast<std::size_t>(of)]; }
  bool flips() const;
  bool checks() const { return checksums || ranges || rules; }
  bool on() const { return flips() || checks() || recover > 0; }
  friend bool operator==(const BitFlips&, const BitFlips&) = default;
};

/// Reads "weights:1e-9,messages:1e-6", and "off" as no rates; flip_rates_text() writes it. Throws
/// Error{InvalidInput} with the nearest class, and for a rate outside of [0, 1].
std::array<double, kFlipClasses> read_flip_rates(std::string_view, const Place&);
std::string flip_rates_text(const BitFlips&);
/// Reads "weights,messages" or "off".
std::array<bool, kFlipClasses> read_flip_ecc(std::string_view, const Place&);
std::string flip_ecc_text(const BitFlips&);
/// Reads "checksums,ranges,rules" or "off" into the settings.
void read_flip_checks(std::string_view, BitFlips&, const Place&);
std::string flip_checks_text(const BitFlips&);
std::span<const std::string_view> flip_part_names();

/// A bit of an element of a tensor; bit 0 is the lowest.
struct BitFlip {
  std::int64_t element = 0;
  int bit = 0;
  friend auto operator<=>(const BitFlip&, const BitFlip&) = default;
};

/// Bits [first, first + count) of a word.
struct BitRange {
  int first = 0, count = 0;
};
/// Returns the bits of a number of F32, BF16 or F16 that are of the part.
BitRange bits_of(FlipPart, DType);

/// FlipDraw names what flips are drawn for.
struct FlipDraw {
  std::uint64_t seed = 0;
  FlipClass of = FlipClass::Weights;
  std::int64_t step = 0;     // the first is 0
  std::int64_t attempt = 0;  // how often the step was begun before: faults do not come again
  std::uint64_t tensor = 0;  // alike under every plan
  std::int64_t microbatch = 0;
};
/// Draws which bits flip, each with the same probability, in rising order. The time that it takes
/// grows with their number and not with that of the elements.
std::vector<BitFlip> drawn_flips(const FlipDraw&, double rate, std::int64_t elements, BitRange);

/// A code for words of 64 bits corrects one flipped bit in a word and detects two (SEC-DED). This
/// is left of the flips after it. Three and more flips of odd number look like one to it.
struct AfterEcc {
  std::vector<BitFlip> left;
  std::int64_t corrected = 0;  // flips, each alone in its word
  std::int64_t detected = 0;   // flips that are left in words in which it knows that there are some
};
/// Takes flips in rising order, of elements of so many bits. The bits of the code itself are sound.
AfterEcc after_ecc(const std::vector<BitFlip>&, int bits_of_element);

/// Flips a bit of an element that begins there, of 1, 2 or 4 bytes.
void flip_bit(std::byte* element, int bytes, int bit);

/// TensorSum adds up the bits of a tensor's elements, each times an odd number of its place, modulo
/// 2^64. Parts may be added in any order. One flipped bit or two change it always: they would have
/// to be the same bit of the same element.
class TensorSum {
 public:
  void add(std::uint32_t bits, std::int64_t place) {
    sum_ += bits * (2 * static_cast<std::uint64_t>(place) + 1);
  }
  TensorSum& operator+=(const TensorSum& part) {
    sum_ += part.sum_;
    return *this;
  }
  std::uint64_t value() const { return sum_; }
  friend bool operator==(const TensorSum&, const TensorSum&) = default;

 private:
  std::uint64_t sum_ = 0;
};

/// FlipDetector says what has found flipped bits.
enum class FlipDetector : std::uint8_t { Ecc, Checksum, Range, Rule, Damage };
inline constexpr std::size_t kFlipDetectors = 5;
inline constexpr std::array<std::string_view, kFlipDetectors> kFlipDetectorNames = {
    "ecc", "checksum", "range", "rule", "damaged checkpoint"};

struct FlipCounts {
  std::int64_t injected = 0;
  std::int64_t corrected = 0;
  std::int64_t detected = 0;  // by whatever, in the step in which they came
  std::int64_t missed() const { return injected - corrected - detected; }
};

/// FlipReport says what became of a run's flipped bits.
struct FlipReport {
  std::array<FlipCounts, kFlipClasses> classes = {};
  std::array<std::int64_t, kFlipDetectors> alarms = {};  // by detector: tensors that it named
  std::int64_t steps = 0;                                // begun, repeated ones included
  std::int64_t alarmed_steps = 0;                        // with an alarm
  std::int64_t false_alarms = 0;    // steps with an alarm in whose state no bit was flipped
  std::int64_t restores = 0;        // times that the run went back
  std::int64_t steps_repeated = 0;  // updates that were done and then done again
  std::int64_t not_restored = 0;    // alarms after which there was nothing to go back to
  // Alarms, each with the first step in which it was raised; at most kMostFlipSentences.
  std::vector<std::string> sentences = {};
  FlipCounts all() const;
};
inline constexpr std::size_t kMostFlipSentences = 20;

}  // namespace trainyard

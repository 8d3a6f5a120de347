// A Corruption changes inputs as the world does: noise of a sensor, an object out of its place,
// poor light, a wrong word. Accuracy on the samples that a model was made for says little about
// what it does with such inputs, and a model that has lost weights or bits loses more on them
// (Liebenwein et al., "Lost in Pruning: The Effects of Pruning Neural Networks beyond Test
// Accuracy", MLSys 2021).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "core/base/random.h"

namespace trainyard {

enum class CorruptionKind : std::uint8_t {
  Noise,     // a normal number of this standard deviation is added to each number, in its own unit
  Shift,     // an image is moved by so many pixels to a random one of eight sides; what comes in is
             // the smallest of its numbers
  Contrast,  // numbers are brought this share of the way to their mean
  Replace,   // this share of tokens is replaced by tokens at random
  Bits,      // inputs stay; weights are rounded to so many bits (core/training/lossy_weights.h)
};

struct Corruption {
  CorruptionKind kind = CorruptionKind::Noise;
  double amount = 0;  // 0 = inputs stay as they are
  friend bool operator==(const Corruption&, const Corruption&) = default;
};

/// Returns "noise:0.3".
std::string to_text(const Corruption&);
/// Returns what it does, as in "noise with a standard deviation of 0.3".
std::string corruption_words(const Corruption&);
/// Reads what to_text() writes. Throws Error{InvalidInput} with the nearest kind, and for an amount
/// out of its range: noise 0 to 1000, shift 0 to 1000 whole pixels, contrast and replace 0 to 1.
/// weights: whether "bits:4" is read too, of 2 to 8 bits, which changes no inputs.
Corruption read_corruption(std::string_view, const Place&, bool weights = false);
/// Reads a list that is separated by commas; an empty text is an empty list.
std::vector<Corruption> read_corruptions(std::string_view, const Place&);

/// Changes the numbers of one sample. width: of an image's rows, for a shift; 0 = it is no image,
/// and a shift leaves it. Numbers of several channels follow one another, `height` rows each.
void corrupt(const Corruption&, const Random&, std::int64_t height, std::int64_t width,
             std::span<float>);
/// Replaces tokens of one sample by others below `limit`, which is at least 1.
void corrupt(const Corruption&, const Random&, std::int64_t limit, std::span<std::int64_t>);

}  // namespace trainyard

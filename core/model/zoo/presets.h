// Presets are networks of each kind described by a few sizes, as in "cnn:classes=10,image=64". The
// command line and the model builder read the same words.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/model.h"

namespace trainyard {

/// A PresetSize is one size of a preset: a whole number from low to high, both included.
struct PresetSize {
  std::string_view name;  // "classes"
  std::int64_t usual = 1, low = 1, high = 1;
  std::string_view unit;  // "pixels", "heads"
  std::string_view doc;   // one line
};

struct Preset {
  std::string_view name;   // "cnn"
  std::string_view title;  // "Convolutional network"
  std::string_view doc;    // one line: what it builds and which paper it follows
  std::vector<PresetSize> sizes;
  /// Takes one value for each of the sizes, in their order and ranges. Throws Error{InvalidInput}
  /// when they do not fit each other.
  Model (*build)(const std::vector<std::int64_t>& values) = nullptr;
};

/// Reads NAME=NUMBER[,NAME=NUMBER]... as one value for each of the sizes of which there is at least
/// one; those that are not given have their usual value. Throws Error{InvalidInput} naming the
/// owner of the sizes, what was expected, what was found and the nearest name.
std::vector<std::int64_t> read_sizes(std::string_view owner, std::span<const PresetSize> sizes,
                                     std::string_view words);

/// The presets are cnn, rnn, seq2seq, recommender, transformer, moe and vision-language.
std::span<const Preset> presets();
/// Returns whether the text has the form of a preset: its name alone, or any name before a colon.
bool names_preset(std::string_view words);
/// Reads NAME or NAME:SIZE=NUMBER[,SIZE=NUMBER]...; sizes that are not given have their usual
/// value. The model is named after the text. Throws Error{InvalidInput} naming the part, what was
/// expected, what was found and the nearest name.
Model preset_model(std::string_view words);
/// Returns the shortest text that preset_model() reads as these values.
std::string preset_words(const Preset&, const std::vector<std::int64_t>& values);

}  // namespace trainyard

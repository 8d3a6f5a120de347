// Presets: networks of each kind by a few sizes, as in "cnn:classes=10,image=64". The command line
// and the model builder read the same words.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/model.h"

namespace trainyard {

/// One size of a preset: a whole number, low to high, both included.
struct PresetSize {
  std::string_view name;  // "classes"
  std::int64_t usual = 1, low = 1, high = 1;
  std::string_view unit;  // "pixels", "heads"
  std::string_view doc;   // one line
};

struct Preset {
  std::string_view name;   // "cnn"
  std::string_view title;  // "Convolutional network"
  std::string_view doc;    // one line: what it builds, after whom
  std::vector<PresetSize> sizes;
  /// One value for each of the sizes, in their order and ranges. Throws Error{InvalidInput} when
  /// they do not go together.
  Model (*build)(const std::vector<std::int64_t>& values) = nullptr;
};

/// cnn, rnn, seq2seq, recommender, transformer, moe.
std::span<const Preset> presets();
/// Whether the words begin as a preset's do: its name alone, or any name before a colon.
bool names_preset(std::string_view words);
/// NAME or NAME:SIZE=NUMBER[,SIZE=NUMBER]...; sizes that are not said have their usual value. The
/// model's name is the words. Throws Error{InvalidInput} naming the part, what was expected, what
/// was found and the nearest name.
Model preset_model(std::string_view words);
/// The shortest words for these values.
std::string preset_words(const Preset&, const std::vector<std::int64_t>& values);

}  // namespace trainyard

// The readers of Hugging Face configs share this: a config's keys under all of their names, and the
// parts of a spec that most of them read alike.
#pragma once

#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/units_text.h"
#include "core/io/json/json.h"
#include "core/model/zoo/builders.h"

namespace trainyard {

inline constexpr std::int64_t kMostHfSize = std::int64_t{1} << 28;
inline constexpr std::int64_t kMostHfLayers = 100'000;

using FieldNames = std::initializer_list<const char*>;

/// HfFields reads keys, under any of their names, and remembers which were there and which were
/// assumed.
class HfFields {
 public:
  HfFields(JsonCursor config, std::string model_type)
      : config_(std::move(config)), type_(std::move(model_type)) {}

  std::int64_t size(FieldNames names, std::int64_t fallback, std::int64_t low = 1,
                    std::int64_t high = kMostHfSize) {
    if (const auto field = find(names)) return field->integer(low, high);
    return assume(names, std::to_string(fallback)), fallback;
  }
  /// Reads a size whose absence (or null) has a meaning of its own, which the sentence states.
  std::int64_t optional_size(FieldNames names, std::int64_t fallback, const std::string& sentence,
                             std::int64_t low = 1) {
    if (const auto field = find(names)) return field->integer(low, kMostHfSize);
    if (!sentence.empty()) note(std::string(*names.begin()) + " is not given: " + sentence);
    return fallback;
  }
  bool flag(const char* name, bool fallback) {
    if (const auto field = find({name})) return field->boolean();
    return assume({name}, fallback ? "true" : "false"), fallback;
  }
  /// Returns whether a dropout rate is above zero.
  bool drops(FieldNames names, double fallback) {
    const auto field = find(names);
    if (!field) return assume(names, to_text(fallback)), fallback > 0;
    const double rate = field->number();
    if (!(rate >= 0 && rate < 1)) field->expected("a dropout rate from 0 to less than 1");
    return rate > 0;
  }
  std::string word(FieldNames names, const char* fallback) {
    if (const auto field = find(names)) return field->text();
    return assume(names, fallback), fallback;
  }
  std::optional<JsonCursor> find(FieldNames names) {
    for (const char* name : names)
      if (const auto field = config_.find(name)) return field;
    return std::nullopt;
  }
  [[noreturn]] void refuse(FieldNames names, const std::string& sentence) {
    if (const auto field = find(names)) field->refuse(sentence);
    config_.refuse(sentence);
  }
  void note(std::string sentence) { assumed_.push_back(std::move(sentence)); }

  const JsonCursor& config() const { return config_; }
  const std::string& type() const { return type_; }
  const std::vector<std::string>& assumed() const { return assumed_; }

 private:
  void assume(FieldNames names, const std::string& value) {
    note(std::string(*names.begin()) + " is not given: " + value + ", the default of " + type_);
  }
  JsonCursor config_;
  std::string type_;
  std::vector<std::string> assumed_;
};

/// HfDefaults are the values that the classes take for missing keys.
struct HfDefaults {
  std::int64_t vocab, hidden, ffn, layers, heads, kv_heads, head_dim, sequence;  // 0: follows from
                                                                                 // the others
  bool tied;
};

/// Reads the activation; "gelu" under any of its names, "silu" or "swish", "relu", "relu2".
Activation hf_activation(HfFields&, FieldNames, const char* fallback, bool gated);
/// Reads the sizes that all transformers have.
TransformerSpec hf_sizes(HfFields&, const char* family, const HfDefaults&);
/// Refuses heads that do not divide; explicit_width says that the width of a head is given.
void expect_hf_heads(HfFields&, const TransformerSpec&, bool explicit_width);
/// Reads what decoders of the llama line have: sizes, key/value heads, head width, tied tables.
TransformerSpec hf_decoder(HfFields&, const char* family, const HfDefaults&);
/// Returns the first of the config's architectures; "" where it names none.
std::string hf_architecture(HfFields&);
/// Reads the list "layer_types" as a kind for each layer: a window where it says sliding_attention,
/// a chunk where it says chunked_attention. Without the list, layer i slides where `slides(i)`.
std::vector<LayerKind> hf_windows(HfFields&, std::int64_t layers, std::int64_t window,
                                  const std::function<bool(std::int64_t)>& slides);

}  // namespace trainyard

// The zoo: published models by name, each with the exact parameter count it must reproduce and
// where that was found.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/model/model.h"

namespace trainyard {

struct TransformerSpec;  // core/model/builders.h

struct ZooEntry {
  std::string_view name;  // "llama-3-70b"
  std::string_view family;
  std::int64_t parameters;  // published or, where only a rounded figure is, our formula's
  std::int64_t active_parameters;
  bool published_exactly;   // parameters is an exact published count
  std::string_view source;  // in words
  Model (*build)(const ZooEntry&);
  TransformerSpec (*spec)(const ZooEntry&) = nullptr;  // of a decoder; null for any other model
};

std::span<const ZooEntry> zoo();
/// The entry of that name or an accepted spelling of it; null where there is none.
const ZooEntry* find_in_zoo(std::string_view name);
/// The model of that name (or an accepted spelling: "llama3-70b"). Throws Error{InvalidInput} with
/// the nearest names.
Model zoo_model(std::string_view name);

}  // namespace trainyard

// A ZooEntry is one published model: its name, the exact parameter count it must reproduce, where
// that was found, and how to build it.
#pragma once

#include <cstdint>
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

}  // namespace trainyard

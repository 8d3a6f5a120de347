// A ZooEntry is one published model: its name, the exact parameter count that it must reproduce,
// the source of that count, and how to build it.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/model/model.h"

namespace trainyard {

struct TransformerSpec;  // core/model/builders.h

struct ZooEntry {
  std::string_view name;  // "llama-3-70b"
  std::string_view family;
  std::int64_t parameters;  // the published count, or the count by our formula where only a rounded
                            // one is published
  std::int64_t active_parameters;
  bool published_exactly;   // parameters is an exact published count
  std::string_view source;  // in words
  Model (*build)(const ZooEntry&);
  TransformerSpec (*spec)(const ZooEntry&) = nullptr;  // for a decoder with Llama's parts; null for
                                                       // any other model
};

}  // namespace trainyard

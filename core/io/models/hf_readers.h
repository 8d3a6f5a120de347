// A reader makes a Model from a config of one model_type. Each group of model types has a file.
#pragma once

#include <span>

#include "core/io/models/hf_fields.h"
#include "core/model/model.h"

namespace trainyard {

struct HfReader {
  const char* type;
  Model (*read)(HfFields&);
};

/// A model_type that is known and cannot be built: what it has that no op or layer here is, and the
/// nearest type that can be read.
struct HfRefused {
  const char *type, *has, *nearest;
};
std::span<const HfRefused> hf_refused();

std::span<const HfReader> hf_established();
std::span<const HfReader> hf_dense();
std::span<const HfReader> hf_routed();
std::span<const HfReader> hf_hybrid();

}  // namespace trainyard

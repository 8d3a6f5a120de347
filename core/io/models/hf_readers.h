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

std::span<const HfReader> hf_established();
std::span<const HfReader> hf_dense();
std::span<const HfReader> hf_routed();

}  // namespace trainyard

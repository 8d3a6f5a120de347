// Gives the format in which each operand of a kernel is stored.
#pragma once

#include <string_view>

#include "core/model/dtype.h"

namespace trainyard {

inline DType storage_type(TensorKind kind, const Precision& precision) {
  switch (kind) {
    case TensorKind::Parameter:
      return precision.parameter;
    case TensorKind::Activation:
      return precision.activation;
    case TensorKind::Statistic:
      return DType::F32;
    case TensorKind::Mask:
      return DType::Bool;
    case TensorKind::Index:
      return DType::I64;
  }
  return DType::F32;
}

/// The format of data that an op keeps besides tensors of the graph, by its name in saved().
inline DType fact_type(std::string_view what, const Precision& precision) {
  if (what == "mask") return DType::Bool;
  if (what == "indices") return DType::I64;
  if (what == "scores" || what == "dropped scores") return precision.activation;
  return DType::F32;
}

}  // namespace trainyard

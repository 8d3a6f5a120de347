// What every precision method asks of a device: a dense peak in the format it multiplies in.
#pragma once

#include <string>
#include <string_view>

#include "core/base/error.h"
#include "core/cluster/device.h"

namespace trainyard {

inline Diagnostics check_peak(const Device& device, DType format, std::string_view method) {
  if (supports(device, format)) return {};
  std::string has;
  for (DType type : {DType::F32, DType::TF32, DType::F16, DType::BF16, DType::F8})
    if (supports(device, type)) has += (has.empty() ? "" : ", ") + std::string(to_string(type));
  return {{Diagnostic::Severity::Error,
           std::string(method) + " needs a device with a " + std::string(to_string(format)) +
               " peak; " + device.name + " has " + has,
           {"plan#/precision"},
           supports(device, DType::BF16)  ? "precision=bf16"
           : supports(device, DType::F16) ? "precision=fp16"
                                          : "precision=fp32"}};
}

/// The format gradients are accumulated in, from the parameter "gradient-dtype".
inline DType gradient_format(const std::string& word) {
  return word == "fp32" ? DType::F32 : word == "fp16" ? DType::F16 : DType::BF16;
}

}  // namespace trainyard

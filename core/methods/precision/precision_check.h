// This file checks what every precision method needs of a device: a dense peak in the format in
// which it multiplies.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include "core/base/error.h"
#include "core/cluster/device.h"

namespace trainyard {

/// Returns whether the device has a peak for exactly this format. TF32 priced at the fp32 peak
/// would lose mantissa bits and gain nothing.
inline bool has_peak(const Device& device, DType format) {
  return std::any_of(device.peaks.begin(), device.peaks.end(),
                     [&](const Peak& p) { return p.type == format; });
}

inline Diagnostics check_peak(const Device& device, DType format, std::string_view method) {
  if (has_peak(device, format)) return {};
  std::string has;
  for (DType type : {DType::F32, DType::TF32, DType::F16, DType::BF16, DType::F8, DType::F4})
    if (has_peak(device, type)) has += (has.empty() ? "" : ", ") + std::string(to_string(type));
  return {{Diagnostic::Severity::Error,
           std::string(method) + " needs a device with a " + std::string(to_string(format)) +
               " peak; " + device.name + " has " + (has.empty() ? "none" : has),
           {"plan#/precision"},
           format == DType::TF32                           ? "precision=fp32"
           : narrow(format) && has_peak(device, DType::F8) ? "precision=fp8"
           : has_peak(device, DType::BF16)                 ? "precision=bf16"
           : has_peak(device, DType::F16)                  ? "precision=fp16"
                                                           : "precision=fp32"}};
}

/// Returns the format in which gradients are accumulated, from the parameter "gradient-dtype".
inline DType gradient_format(const std::string& word) {
  return word == "fp32" ? DType::F32 : word == "fp16" ? DType::F16 : DType::BF16;
}

}  // namespace trainyard

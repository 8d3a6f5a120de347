// What `calibrate` measured, as a document, trainyard/calibration@1. Kernels go by their names, so
// that a file outlives the binary that wrote it.
#pragma once

#include <string>
#include <string_view>

#include "core/cost/calibrated.h"
#include "core/io/json/json.h"

namespace trainyard {

/// Canonical text; read_calibration gives an equal calibration back.
std::string write_calibration(const Calibration&);
/// Throws Error{InvalidInput} at "SOURCE#/pointer" with the sentence.
Calibration read_calibration(std::string_view text, const std::string& source);

}  // namespace trainyard

// This file reads and writes what `calibrate` measured as a document, trainyard/calibration@1.
// Kernels are identified by name, so that a file remains valid with later builds of the program.
#pragma once

#include <string>
#include <string_view>

#include "core/cost/calibrated.h"
#include "core/io/json/fields.h"

namespace trainyard {

/// A collective by its name, as "all-reduce".
Form<CollectiveKind> collective_form();
const Fields<Calibration>& calibration_fields();
/// Returns canonical text; read_calibration() returns an equal calibration.
std::string write_calibration(const Calibration&);
/// Throws Error{InvalidInput} at "SOURCE#/pointer".
Calibration read_calibration(std::string_view text, const std::string& source);

}  // namespace trainyard

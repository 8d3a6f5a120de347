// This file gives access to the published measurements that ship with the program
// (assets/validation), as CSV.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/validation/rows/measured_row.h"

namespace trainyard {

const std::string& shipped_rows();       // open.csv
const std::string& shipped_suspects();   // suspects.csv: rows that contradict their neighbours
const std::string& shipped_residuals();  // residuals.csv: errors of cross-validation

/// Returns the shipped rows with suspects marked. They are parsed once.
const std::vector<MeasuredRow>& published_rows();
/// Marks a row that suspects.csv names.
void mark_suspect(MeasuredRow&);

}  // namespace trainyard

// This file gives access to the measurements that ship with the program (assets/validation), as
// CSV.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/validation/rows/measured_row.h"

namespace trainyard {

const std::string& shipped_rows();         // open.csv
const std::string& shipped_device_rows();  // one-device.csv: what this project measured itself
const std::string& shipped_records();      // records.csv: ImageNet's records
const std::string& shipped_suspects();     // suspects.csv: rows that contradict their neighbours
const std::string& shipped_residuals();    // residuals.csv: errors of cross-validation

/// Returns the shipped rows with suspects marked. They are parsed once.
const std::vector<MeasuredRow>& published_rows();
/// Returns the rows that this project measured on one device, parsed once. No parameter was fitted
/// to them.
const std::vector<MeasuredRow>& device_rows();
/// Returns the published records of training a network on ImageNet, parsed once. No parameter was
/// fitted to them.
const std::vector<MeasuredRow>& record_rows();
/// Marks a row that suspects.csv names.
void mark_suspect(MeasuredRow&);

}  // namespace trainyard

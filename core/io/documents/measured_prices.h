// MeasuredPrices are prices that a user measured, as one document: times of a machine's kernels
// (trainyard/calibration) or parameters fitted to rows (trainyard/profile).
#pragma once

#include <string>
#include <string_view>
#include <variant>

#include "core/cost/calibrated.h"
#include "core/validation/profile.h"

namespace trainyard {

using MeasuredPrices = std::variant<Calibration, ParameterProfile>;

/// Reads the kind that the text states. Throws Error{InvalidInput} at "SOURCE#/pointer".
MeasuredPrices read_measured_prices(std::string_view text, const std::string& source);
/// Returns canonical text; read_measured_prices() returns equal prices.
std::string write_measured_prices(const MeasuredPrices&);
/// Returns the document on one line (core/io/json/inline_document.h).
std::string measured_prices_word(const MeasuredPrices&);
/// Opens the value of --calibration: a file, or the document on one line. Throws Error{Io} or as
/// above.
MeasuredPrices open_measured_prices(const std::string& word);
/// Returns what was measured: the machine, or "runs.csv: 12 rows in 3 groups".
const std::string& provenance(const MeasuredPrices&);
/// Returns the residual of its own check: "residual 2.1 % (median), 6.4 % at worst".
std::string residual_words(const MeasuredPrices&);

}  // namespace trainyard

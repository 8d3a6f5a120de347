// Prices that somebody measured, as one document: what a machine's kernels took
// (trainyard/calibration) or parameters fitted to rows (trainyard/profile).
#pragma once

#include <string>
#include <string_view>
#include <variant>

#include "core/cost/calibrated.h"
#include "core/validation/profile.h"

namespace trainyard {

using MeasuredPrices = std::variant<Calibration, ParameterProfile>;

/// Whichever the text says it is. Throws Error{InvalidInput} at "SOURCE#/pointer" with the
/// sentence.
MeasuredPrices read_measured_prices(std::string_view text, const std::string& source);
/// Canonical text; read_measured_prices gives equal prices back.
std::string write_measured_prices(const MeasuredPrices&);
/// The document on one line (core/io/json/inline_document.h).
std::string measured_prices_word(const MeasuredPrices&);
/// What --calibration says: a file, or the document on one line. Throws Error{Io} or as above.
MeasuredPrices open_measured_prices(const std::string& word);
/// What was measured: the machine, or "runs.csv: 12 rows in 3 groups".
const std::string& provenance(const MeasuredPrices&);
/// "residual 2.1 % in the middle, 6.4 % at worst": of its own check.
std::string residual_words(const MeasuredPrices&);

}  // namespace trainyard

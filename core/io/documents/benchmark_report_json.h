// The document of a benchmark report, trainyard/benchmark-report@1.
#pragma once

#include <string>
#include <string_view>

#include "core/io/json/fields.h"
#include "core/result/benchmark_report.h"

namespace trainyard {

const Fields<BenchmarkReport>& benchmark_report_fields();
/// Throws Error{InvalidInput} for what is no such document. A report that leaves something out is
/// read as one: check_report() says what.
BenchmarkReport read_benchmark_report(std::string_view text, const std::string& source);

/// Returns the text of a report that was made up to bend everything that can be bent.
const std::string& shipped_report();

}  // namespace trainyard

// Makes a benchmark report of recorded runs (core/result/benchmark_report.h): it states what the
// run list knows and not only what its writer likes, such as runs of the same plan that were not
// chosen and the other settings that were tried.
#pragma once

#include <string_view>

#include "app/workspace/runs/run_store.h"
#include "core/result/benchmark_report.h"

namespace trainyard {

/// Reports on runs named as compared_runs() names them, by the first figure that judge() gives: B
/// is claimed to be better, or A, where the verdict says so. Throws Error{InvalidInput} as
/// runs_named() does, and where the runs have no figure in common.
BenchmarkReport report_of_runs(std::string_view a, std::string_view b, const RunStore&);

}  // namespace trainyard

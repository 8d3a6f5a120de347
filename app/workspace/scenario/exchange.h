// What other programs are given of a plan, and what they write about pipelines.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/exporters/exported.h"
#include "core/lowering/lower.h"

namespace trainyard {

/// A file in another program's words, as settings of a plan.
struct Import {
  std::string what;                   // "PyTorch pipeline CSV"
  std::vector<std::string> settings;  // "pp=2", to be applied in this order
  std::vector<std::string> notes;     // what was left out or read in a way worth saying
};

/// Tells the kinds apart by what they say. The scenario is what the file is taken into: its plan
/// may be incomplete, its model and cluster empty where they are not known. A layout needs the
/// model, and takes the pipeline degree of the plan; a schedule takes its own. Throws
/// Error{InvalidInput}.
Import import_text(std::string_view content, const std::string& source, const Scenario&);

struct ExportFormat {
  std::string_view name;    // of `export --to`
  std::string_view title;   // "PyTorch pipeline CSV"
  std::string_view ending;  // "csv"
  /// Equal plans give equal bytes. Throws Error{Unsupported} with what cannot be said.
  Exported (*write)(const Workload&);
};
std::span<const ExportFormat> export_formats();
/// Their names as a sentence has them: "a, b or c".
std::string export_names();
/// Throws Error{InvalidInput} with the nearest names.
const ExportFormat& export_format(std::string_view name);

}  // namespace trainyard

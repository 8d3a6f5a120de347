// Exchanges plans with other programs: exports a plan to their formats, and imports what they write
// about pipelines.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/exporters/exported.h"
#include "core/lowering/lower.h"

namespace trainyard {

/// A file of another program, read as settings of a plan.
struct Import {
  std::string what;                   // "PyTorch pipeline CSV"
  std::vector<std::string> settings;  // such as "pp=2", to be applied in this order
  std::vector<std::string> notes;     // what was left out, or read in a way worth mentioning
};

/// Recognises the kind of a file by its content. The scenario is the one into which the file is
/// imported: its plan may be incomplete, and its model and cluster are empty if unknown. A layout
/// needs the model and uses the plan's pipeline degree; a schedule has its own. Throws
/// Error{InvalidInput}.
Import import_text(std::string_view content, const std::string& source, const Scenario&);

struct ExportFormat {
  std::string_view name;    // as in `export --to`
  std::string_view title;   // "PyTorch pipeline CSV"
  std::string_view ending;  // "csv"
  /// Equal plans give equal bytes. Throws Error{Unsupported} that names what the format cannot
  /// express.
  Exported (*write)(const Workload&);
  /// Writes the weights of a checkpoint too; null for a format that has none. write() then takes
  /// those with which training begins. Both answer few samples, so that a person can wait for them.
  Exported (*write_weights)(const Workload&, const std::string& checkpoint) = nullptr;
};
std::span<const ExportFormat> export_formats();
/// The names for use in a sentence: "a, b or c".
std::string export_names();
/// Throws Error{InvalidInput} that names the nearest formats.
const ExportFormat& export_format(std::string_view name);

}  // namespace trainyard

// The JSON Schemas (draft 2020-12) of the documents that Trainyard reads and writes, for editors
// and validators. Each follows from the document's list of fields, which stands beside its writer.
#pragma once

#include <string>
#include <vector>

#include "core/io/json/json.h"

namespace trainyard {

/// Returns the names of documents with a schema: "plan", "result", "order" and more.
std::vector<std::string> json_schema_names();
/// Throws Error{InvalidInput} with the nearest name.
std::string json_schema(const std::string& name);

// Those of documents that a verb's own file writes.
Json arena_schema();
Json comparison_schema();
Json lint_schema();
Json runs_schema();
Json schedules_schema();
Json trade_schema();

}  // namespace trainyard

// This file generates JSON Schemas (draft 2020-12) of the documents that Trainyard reads and
// writes, for editors and validators.
#pragma once

#include <string>
#include <vector>

namespace trainyard {

/// Returns the names of documents with a schema: "plan", "cluster", "result", "order" and more.
std::vector<std::string> json_schema_names();
/// Throws Error{InvalidInput} with the nearest name.
std::string json_schema(const std::string& name);

}  // namespace trainyard

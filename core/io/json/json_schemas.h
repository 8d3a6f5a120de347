// JSON Schemas (draft 2020-12) of the documents we read and write, for editors and validators.
#pragma once

#include <string>
#include <vector>

namespace trainyard {

/// "plan", "cluster", "result", "order": those that have one.
std::vector<std::string> json_schema_names();
/// Throws Error{InvalidInput} with the nearest name.
std::string json_schema(const std::string& name);

}  // namespace trainyard

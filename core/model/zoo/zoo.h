// The zoo holds published models by name, each with the exact parameter count that it must
// reproduce and the source of that count.
#pragma once

#include <span>
#include <string_view>

#include "core/model/zoo/zoo_entry.h"

namespace trainyard {

std::span<const ZooEntry> zoo();
/// Returns the entry of that name or of an accepted spelling of it; null where there is none.
const ZooEntry* find_in_zoo(std::string_view name);
/// Returns the model of that name (or an accepted spelling: "llama3-70b"). Throws
/// Error{InvalidInput} with the nearest names.
Model zoo_model(std::string_view name);

}  // namespace trainyard

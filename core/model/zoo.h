// The zoo: published models by name, each with the exact parameter count it must reproduce and
// where that was found.
#pragma once

#include <span>
#include <string_view>

#include "core/model/zoo_entry.h"

namespace trainyard {

std::span<const ZooEntry> zoo();
/// The entry of that name or an accepted spelling of it; null where there is none.
const ZooEntry* find_in_zoo(std::string_view name);
/// The model of that name (or an accepted spelling: "llama3-70b"). Throws Error{InvalidInput} with
/// the nearest names.
Model zoo_model(std::string_view name);

}  // namespace trainyard

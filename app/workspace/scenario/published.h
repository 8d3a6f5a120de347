// Opens published rows as scenarios: "published:ID" stands for the model, the cluster or the plan
// of that row wherever one is named, and settings that the row leaves open are listed as
// assumptions.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/validation/difference.h"
#include "core/validation/rows/row_scenario.h"

namespace trainyard {

/// The rows that ship with the program, prepared once: the first call, on any thread, takes a
/// moment.
const RowSet& published_set();
/// Throws Error{InvalidInput} if there is no such row (naming the nearest), or if the row states
/// too little (saying what).
const PreparedRow& published_row(std::string_view id);

std::string published_word(std::string_view id);  // "published:ID"
/// The id in such a word; empty for other words.
std::optional<std::string_view> published_id(std::string_view word);
/// A sentence such as "micro-batch = 1 is assumed: not stated" for each setting that the row leaves
/// open.
std::vector<std::string> assumed_sentences(const PreparedRow&);

/// Prices by the closed form, used for the parts of a difference.
PlanCost estimated_cost(const Scenario&);

}  // namespace trainyard

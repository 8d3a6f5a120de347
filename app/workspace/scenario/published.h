// The published rows as scenarios that can be opened: "published:ID" stands for the model, the
// cluster or the plan of that row wherever one is named, and what the row leaves open stands among
// the model's assumptions.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/validation/difference.h"
#include "core/validation/row_scenario.h"

namespace trainyard {

/// Those that ship, prepared once: the first call takes a moment, on any thread.
const RowSet& published_set();
/// Throws Error{InvalidInput}: no such row (nearest), or one that states too little (why).
const PreparedRow& published_row(std::string_view id);

std::string published_word(std::string_view id);  // "published:ID"
/// The id in such a word; nothing for other words.
std::optional<std::string_view> published_id(std::string_view word);
/// "micro-batch = 1 is assumed: not stated", one for each setting that the row leaves open.
std::vector<std::string> assumed_sentences(const PreparedRow&);

/// By the closed form: what parts of a difference are priced at.
PlanCost estimated_cost(const Scenario&);

}  // namespace trainyard

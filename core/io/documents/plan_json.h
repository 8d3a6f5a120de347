// This file reads and writes a Plan as the document trainyard/plan@1.
//
//  {"schema": "trainyard/plan@1", "name": "two nodes",
//   "mesh": {"tp": 8, "cp": 1, "ep": 1, "dp": 1, "pp": 2, "order": "tp-cp-ep-dp-pp"},
//   "virtual_stages": 1, "batch": {"global": 64, "micro": 1, "sequence": 4096}, "split": [16, 16],
//   "optimizer": "adam", "flash_attention": true,
//   "choices": [{"method": "1f1b"}, {"method": "zero", "stage": 1}]}
//
// Everything but the schema may be left out and then has the default of plan.h. A split may also be
// "even" or "balanced".
#pragma once

#include <string>
#include <string_view>

#include "core/io/json/fields.h"
#include "core/plan/plan.h"

namespace trainyard {

const Fields<Plan>& plan_fields();
/// Only what the plan states is written: dp, global batch, sequence and split when they are set.
Json to_json(const Plan&);
std::string plan_document(const Plan&);

/// Throws Error{InvalidInput} listing everything that is wrong: unknown keys and methods with the
/// nearest, types, ranges, a method given twice.
Plan parse_plan(std::string_view text, const std::string& source);
/// Reads the plan from a file. Throws as read_file() and parse_plan() do.
Plan read_plan(const std::string& path);

}  // namespace trainyard

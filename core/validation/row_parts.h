// The parts of a row's scenario, a file each. All throw Error{Unsupported} whose sentence is the
// reason for which the row is skipped, and append what the row leaves open to the assumptions.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/result/flops_definition.h"
#include "core/validation/prepared_row.h"

namespace trainyard {

/// ASCII letters in lower case; "_" and spaces as "-".
std::string row_word(std::string_view);
/// Whether a column's text holds a phrase, in any case.
bool mentions(std::string_view text, std::string_view phrase);
/// The number behind "KEY=" in a list such as `also`; nothing where there is none.
std::optional<double> stated(std::string_view list, std::string_view key);

/// How the published frameworks are called in software.cpp.
Software row_software(const MeasuredRow&);

Model row_model(const MeasuredRow&, std::vector<Assumption>&);
/// Routed experts that no column states but the family has.
bool is_routed(const Model&);
Cluster row_cluster(const MeasuredRow&, std::vector<Assumption>&);
Plan row_plan(const MeasuredRow&, const Model&, const Cluster&, std::vector<Assumption>&);

/// Seconds or bytes, and which.
struct Measurement {
  RowMetric metric = RowMetric::StepTime;
  double value = 0;
};
/// Of what a sentence says in publications' words; nothing where it does not say.
std::optional<FlopsDefinition> read_flops_definition(std::string_view sentence);
Measurement row_measurement(const MeasuredRow&, const Scenario&, std::vector<Assumption>&);

/// What other rows say about blanks of these: heads of the same hidden size, virtual stages of the
/// same run. Rows are not read twice: a copy with the blanks filled, and why.
struct FilledRow {
  MeasuredRow row;
  std::vector<Assumption> assumptions;
};
std::vector<FilledRow> fill_blanks(const std::vector<MeasuredRow>&);
/// Precision, fused attention and recomputation, where a source's memory figures tell them.
void infer_from_memory(std::vector<FilledRow>&);
std::variant<PreparedRow, SkippedRow> prepare_filled(const FilledRow&);

}  // namespace trainyard

// This file declares the parts of a row's scenario, one source file each. All throw
// Error{Unsupported} whose sentence is the reason for which the row is skipped, and append what the
// row leaves open to the assumptions.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/result/flops_definition.h"
#include "core/validation/rows/prepared_row.h"

namespace trainyard {

/// Returns the text with ASCII letters in lower case and "-" for "_" and spaces.
std::string row_word(std::string_view);
/// Returns whether a column's text contains a phrase, in any case.
bool mentions(std::string_view text, std::string_view phrase);
/// Returns the number after "KEY=" in a list such as `also`; nothing where there is none.
std::optional<double> stated(std::string_view list, std::string_view key);

/// Returns the row's framework, translated from its published name to that of software.cpp.
Software row_software(const MeasuredRow&);

Model row_model(const MeasuredRow&, std::vector<Assumption>&);
/// Returns whether the model has routed experts.
bool is_routed(const Model&);
Cluster row_cluster(const MeasuredRow&, std::vector<Assumption>&);
Plan row_plan(const MeasuredRow&, const Model&, const Cluster&, std::vector<Assumption>&);

/// A Measurement is in seconds or bytes, by its metric.
struct Measurement {
  RowMetric metric = RowMetric::StepTime;
  double value = 0;
};
/// Returns the definition that a sentence states in the words of publications; nothing where it
/// states none.
std::optional<FlopsDefinition> read_flops_definition(std::string_view sentence);
Measurement row_measurement(const MeasuredRow&, const Scenario&, std::vector<Assumption>&);

/// A FilledRow is a copy of a row with the blanks that other rows fill, and the reasons.
struct FilledRow {
  MeasuredRow row;
  std::vector<Assumption> assumptions;
};
std::variant<PreparedRow, SkippedRow> prepare_filled(const FilledRow&);

/// Precision, fused attention and recomputation as a source's memory figures reveal them.
struct InferredSetting;
struct InferredAnswer {
  std::vector<const InferredSetting*> settings;  // found one after the other
  double before = 0, after = 0;                  // median log errors
};
/// Returns the row with its memory as the measured value, where it states memory, leaves open what
/// memory reveals, and may be believed.
std::optional<MeasuredRow> memory_figure(const MeasuredRow&);
/// The figures are those of one source.
InferredAnswer infer_from_memory(std::vector<FilledRow> figures);
void take_inferred(const InferredAnswer&, FilledRow&);

}  // namespace trainyard

#include "core/io/documents/validation_json.h"

namespace trainyard {
namespace {

struct ValidationSheet {
  const RowSet& set;
  const Validation& validation;
};

struct JudgedRow {
  const PreparedRow& row;
  const RowVerdict& verdict;
};

Fields<Assumption> assumption_fields() {
  return {
      {"setting", &Assumption::setting}, {"taken", &Assumption::taken}, {"why", &Assumption::why}};
}

Fields<JudgedRow> judged_row_fields() {
  const auto row = [](auto member) {
    return [member](const JudgedRow& judged) -> const auto& { return judged.row.row.*member; };
  };
  const auto prepared = [](auto member) {
    return [member](const JudgedRow& judged) -> const auto& { return judged.row.*member; };
  };
  const auto verdict = [](auto member) {
    return [member](const JudgedRow& judged) -> const auto& { return judged.verdict.*member; };
  };
  return {{"id", row(&MeasuredRow::id)},
          {"source", row(&MeasuredRow::source_family)},
          {"group", row(&MeasuredRow::group)},
          {"metric", [](const JudgedRow& judged) { return metric_name(judged.row.metric); }},
          {"measured", prepared(&PreparedRow::measured)},
          {"predicted", verdict(&RowVerdict::predicted)},
          {"low", verdict(&RowVerdict::low)},
          {"high", verdict(&RowVerdict::high)},
          {"error", verdict(&RowVerdict::error)},
          {"implied_mfu", verdict(&RowVerdict::implied_mfu), number(kAmount), kWhereSet,
           "share of the devices' dense peak that the measured step implies"},
          {"cross_error", verdict(&RowVerdict::cross_error)},
          {"calibrated_error", verdict(&RowVerdict::calibrated_error)},
          {"counts", prepared(&PreparedRow::tunable)},
          {"routed", prepared(&PreparedRow::routed)},
          {"suspect", row(&MeasuredRow::suspect), kWhereSet},
          {"assumed", prepared(&PreparedRow::assumptions), list_of(object(assumption_fields()))},
          {"explanation", verdict(&RowVerdict::explanation), kWhereSet}};
}

Fields<Score> score_fields() {
  return {{"metric", &Score::metric},
          {"name", &Score::name},
          {"n", &Score::rows},
          {"groups", &Score::groups},
          {"mean_absolute_percentage_error", [](const Score& s) { return 100 * s.mean; }},
          {"median", &Score::median},
          {"p90", &Score::p90},
          {"max", &Score::max},
          {"bias", &Score::bias},
          {"inside_band", &Score::inside_band, number(kShare)}};
}

Fields<SkippedRow> skipped_row_fields() {
  return {{"id", [](const SkippedRow& skipped) { return skipped.row.id; }},
          {"reason", &SkippedRow::reason}};
}

std::vector<JudgedRow> judged_rows(const ValidationSheet& sheet) {
  std::vector<JudgedRow> rows;
  for (const RowVerdict& verdict : sheet.validation.rows)
    rows.push_back({sheet.set.rows[verdict.row], verdict});
  return rows;
}

std::optional<double> cross_half_width(const ValidationSheet& sheet) {
  if (sheet.validation.cross.empty()) return std::nullopt;
  return sheet.validation.cross_half_width;
}

Fields<ValidationSheet> validation_fields() {
  using Sheet = ValidationSheet;
  const auto of = [](auto member) {
    return [member](const Sheet& sheet) -> const auto& { return sheet.validation.*member; };
  };
  const auto scores = list_of(object(score_fields()));
  return document_fields<Sheet>(
      "trainyard/validation",
      {{"rows", judged_rows, list_of(object(judged_row_fields())),
        "seconds of a step (of a layer) or bytes of a device; error is predicted over measured "
        "less 1"},
       {"by_metric", of(&Validation::by_metric), scores,
        "shares but for the first, groups weighted equally"},
       {"by_source", of(&Validation::by_source), scores, "the same of each source"},
       {"cross", of(&Validation::cross), scores, kWhereSet,
        "each source predicted without its own rows"},
       {"calibrated", of(&Validation::calibrated), scores, kWhereSet,
        "the same after three rows of the source"},
       {"by_factor", of(&Validation::by_factor), scores, kWhereSet,
        "the same after one to three rows of the group gave one factor"},
       {"kendall", of(&Validation::kendall)},
       {"mean_half_width", of(&Validation::mean_half_width)},
       {"cross_kendall", of(&Validation::cross_kendall)},
       {"cross_half_width", cross_half_width},
       {"skipped", [](const Sheet& sheet) -> const auto& { return sheet.set.skipped; },
        list_of(object(skipped_row_fields()))}});
}

}  // namespace

Json validation_schema() { return validation_fields().schema(); }

std::string validation_document(const RowSet& set, const Validation& validation) {
  return write_json(validation_fields().write({set, validation}));
}

}  // namespace trainyard

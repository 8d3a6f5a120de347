#include "core/io/documents/validation_json.h"

#include "core/io/json/schema.h"

namespace trainyard {
namespace {

Json row_json(const PreparedRow& row, const RowVerdict& verdict) {
  Json json = Json::object();
  json.set("id", row.row.id);
  json.set("source", row.row.source_family);
  json.set("group", row.row.group);
  json.set("metric", metric_name(row.metric));
  json.set("measured", row.measured);
  json.set("predicted", verdict.predicted);
  json.set("low", verdict.low);
  json.set("high", verdict.high);
  json.set("error", verdict.error);
  if (verdict.cross_error) json.set("cross_error", *verdict.cross_error);
  if (verdict.calibrated_error) json.set("calibrated_error", *verdict.calibrated_error);
  json.set("counts", row.tunable);
  json.set("routed", row.routed);
  if (!row.row.suspect.empty()) json.set("suspect", row.row.suspect);
  Json assumed = Json::list();
  for (const Assumption& a : row.assumptions) {
    Json one = Json::object();
    one.set("setting", a.setting);
    one.set("taken", a.taken);
    one.set("why", a.why);
    assumed.push(std::move(one));
  }
  json.set("assumed", std::move(assumed));
  if (!verdict.explanation.empty()) json.set("explanation", verdict.explanation);
  return json;
}

Json scores_json(const std::vector<Score>& scores) {
  Json list = Json::list();
  for (const Score& s : scores) {
    Json json = Json::object();
    json.set("metric", s.metric);
    json.set("name", s.name);
    json.set("n", s.rows);
    json.set("groups", s.groups);
    json.set("mean_absolute_percentage_error", 100 * s.mean);
    json.set("median", s.median);
    json.set("p90", s.p90);
    json.set("max", s.max);
    json.set("bias", s.bias);
    json.set("inside_band", s.inside_band);
    list.push(std::move(json));
  }
  return list;
}

}  // namespace

std::string validation_document(const RowSet& set, const Validation& v) {
  Json json = Json::object();
  json.set("schema", schema_name(schema("trainyard/validation")));
  Json rows = Json::list();
  for (const RowVerdict& verdict : v.rows) rows.push(row_json(set.rows[verdict.row], verdict));
  json.set("rows", std::move(rows));
  json.set("by_metric", scores_json(v.by_metric));
  json.set("by_source", scores_json(v.by_source));
  if (!v.cross.empty()) json.set("cross", scores_json(v.cross));
  if (!v.calibrated.empty()) json.set("calibrated", scores_json(v.calibrated));
  if (v.kendall) json.set("kendall", *v.kendall);
  json.set("mean_half_width", v.mean_half_width);
  if (v.cross_kendall) json.set("cross_kendall", *v.cross_kendall);
  if (!v.cross.empty()) json.set("cross_half_width", v.cross_half_width);
  Json skipped = Json::list();
  for (const SkippedRow& row : set.skipped) {
    Json one = Json::object();
    one.set("id", row.row.id);
    one.set("reason", row.reason);
    skipped.push(std::move(one));
  }
  json.set("skipped", std::move(skipped));
  return write_json(json);
}

}  // namespace trainyard

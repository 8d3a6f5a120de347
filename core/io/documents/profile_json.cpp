#include "core/io/documents/profile_json.h"

#include <fmt/format.h>

#include <utility>

#include "core/base/nearest.h"
#include "core/io/json/quantity.h"
#include "core/io/json/schema.h"

namespace trainyard {
namespace {

constexpr const char* kProfileSchema = "trainyard/profile";

Json residual_json(const ProfileResidual& r) {
  Json json = Json::object();
  json.set("median", r.median);
  json.set("p90", r.p90);
  json.set("worst", r.worst);
  return json;
}

ProfileResidual read_residual(const JsonCursor& at) {
  at.expect_keys({"median", "p90", "worst"});
  return {quantity(at.at("median"), kAmount), quantity(at.at("p90"), kAmount),
          quantity(at.at("worst"), kAmount)};
}

double within(const JsonCursor& at, const ParameterInfo& row) {
  const double value = at.number();
  if (!(value >= row.low && value <= row.high))
    at.refuse(fmt::format("expected {} within {} to {} ({}), found {}", row.name, row.low, row.high,
                          row.unit, value));
  return value;
}

void read_parameter(const JsonCursor& at, const ParameterInfo& row, ParameterProfile& profile) {
  at.expect_keys({"value", "shipped", "determined"});
  const auto place = static_cast<std::size_t>(row.parameter);
  profile.parameters[row.parameter] = within(at.at("value"), row);
  profile.shipped[row.parameter] = within(at.at("shipped"), row);
  if (const auto determined = at.find("determined")) {
    const double d = determined->number();
    if (!(d > 0 && d <= 1)) determined->expected("a number above 0 and at most 1");
    profile.determined[place] = d;
  }
}

}  // namespace

std::string write_profile(const ParameterProfile& profile) {
  Json parameters = Json::object();
  for (const ParameterInfo& row : parameter_table()) {
    Json one = Json::object();
    one.set("value", profile.parameters[row.parameter]);
    one.set("shipped", profile.shipped[row.parameter]);
    one.set("determined", profile.determined[static_cast<std::size_t>(row.parameter)]);
    parameters.set(std::string(row.name), std::move(one));
  }
  Json residual = Json::object();
  residual.set("shipped", residual_json(profile.before));
  residual.set("fitted", residual_json(profile.after));
  Json notes = Json::list();
  for (const std::string& note : profile.notes) notes.push(note);
  Json json = Json::object();
  json.set("schema", schema_name(schema(kProfileSchema)));
  json.set("rows", profile.rows);
  json.set("residual", std::move(residual));
  json.set("parameters", std::move(parameters));
  json.set("notes", std::move(notes));
  return write_json(json);
}

ParameterProfile read_profile(std::string_view text, const std::string& source) {
  const Json json = read_document(text, kProfileSchema, source);
  const JsonCursor root(json, source);
  root.expect_keys({"schema", "rows", "residual", "parameters", "notes"});
  ParameterProfile profile;
  profile.rows = root.at("rows").text();
  const JsonCursor residual = root.at("residual");
  residual.expect_keys({"shipped", "fitted"});
  profile.before = read_residual(residual.at("shipped"));
  profile.after = read_residual(residual.at("fitted"));
  std::vector<std::string> names;
  for (const ParameterInfo& row : parameter_table()) names.emplace_back(row.name);
  const JsonCursor parameters = root.at("parameters");
  parameters.expect_keys(names);
  for (const ParameterInfo& row : parameter_table())
    if (const auto one = parameters.find(row.name)) read_parameter(*one, row, profile);
  if (const auto notes = root.find("notes"))
    for (const JsonCursor& note : notes->items()) profile.notes.push_back(note.text());
  return profile;
}

}  // namespace trainyard

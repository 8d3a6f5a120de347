#include "core/io/documents/profile_json.h"

#include <fmt/format.h>

namespace trainyard {
namespace {

constexpr const char* kProfileSchema = "trainyard/profile";

Fields<ProfileResidual> residual_fields() {
  return {{"median", &ProfileResidual::median, number(kAmount)},
          {"p90", &ProfileResidual::p90, number(kAmount)},
          {"worst", &ProfileResidual::worst, number(kAmount)}};
}

Fields<StepFactor> step_factor_fields() {
  return {{"factor", &StepFactor::factor, number({"a factor", 0.01, 100}),
           "measured over predicted, as far as the rows are trusted"},
          {"narrowing", &StepFactor::narrowing, number({"a share", 0.01, 1}),
           "what remains of the logarithmic width of bands of time"}};
}

Form<double> value_of(const ParameterInfo& row) {
  Form<double> form = number();
  form.schema.set("minimum", row.low).set("maximum", row.high).set("description", row.unit);
  form.read = [&row](const JsonCursor& at) {
    const double value = at.number();
    if (!(value >= row.low && value <= row.high))
      at.refuse(fmt::format("expected {} within {} to {} ({}), found {}", row.name, row.low,
                            row.high, row.unit, value));
    return value;
  };
  return form;
}

// The schema says a share, because it cannot say "above".
Form<double> determined() {
  Form<double> form = number(kShare);
  form.read = [](const JsonCursor& at) {
    const double d = at.number();
    if (!(d > 0 && d <= 1)) at.expected("a number above 0 and at most 1");
    return d;
  };
  return form;
}

Fields<ParameterProfile> parameter_fields(const ParameterInfo& row) {
  const Parameter p = row.parameter;
  return {
      {"value", [p](auto& of) -> decltype(auto) { return of.parameters[p]; }, value_of(row)},
      {"shipped", [p](auto& of) -> decltype(auto) { return of.shipped[p]; }, value_of(row)},
      {"determined", [p](auto& of) -> auto& { return of.determined[static_cast<std::size_t>(p)]; },
       determined(), kDefaulted, "posterior over prior spread"}};
}

Fields<ParameterProfile> profile_members() {
  const Form<ProfileResidual> residual = object(residual_fields());
  const char* of_rows = "of the rows: |predicted / measured - 1|, groups equal";
  Fields<ParameterProfile> parameters;
  for (const ParameterInfo& row : parameter_table())
    parameters.add({std::string(row.name), parameter_fields(row), kDefaulted, row.meaning});
  return {{"rows", &ParameterProfile::rows, "which rows it was fitted to"},
          {"devices", &ParameterProfile::devices, kWhereSet,
           "of the catalogue, on whose clusters they were measured; absent: not stated"},
          {"residual",
           Fields<ParameterProfile>{{"shipped", &ParameterProfile::before, residual, of_rows},
                                    {"fitted", &ParameterProfile::after, residual, of_rows}}},
          {"steps", &ParameterProfile::steps, object(step_factor_fields()),
           "one factor on all times, which few rows give; absent: none"},
          {"parameters", parameters},
          {"notes", &ParameterProfile::notes, kDefaulted}};
}

}  // namespace

const Fields<ParameterProfile>& profile_fields() {
  static const Fields<ParameterProfile> fields = document_fields(kProfileSchema, profile_members());
  return fields;
}

std::string write_profile(const ParameterProfile& profile) {
  return write_json(profile_fields().write(profile));
}

ParameterProfile read_profile(std::string_view text, const std::string& source) {
  return read_fields(profile_fields(), text, kProfileSchema, source);
}

}  // namespace trainyard

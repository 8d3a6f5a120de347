// This file makes parameters of methods available as settings, prefixed by the method's name:
// "tick-tock.offset", "fp8.scaling", "expert-parallel.copies". A plan has one schedule and one
// precision, which must be chosen before their parameters are set; any other method is chosen by
// setting one of its parameters.
#include <algorithm>

#include "core/base/nearest.h"
#include "core/methods/catalogue.h"
#include "core/methods/settings/settings.h"

namespace trainyard {
namespace {

std::string short_text(std::string_view text) { return std::string(text.substr(0, 80)); }

const ParamSpec* find_spec(const Method& m, std::string_view name) {
  const auto found = std::find_if(m.params.begin(), m.params.end(),
                                  [&](const ParamSpec& spec) { return spec.name == name; });
  return found == m.params.end() ? nullptr : &*found;
}

const Method* method_before(std::string_view key) {
  const std::size_t dot = key.find('.');
  if (dot == std::string_view::npos) return nullptr;
  return find_method(key.substr(0, dot));
}

bool one_a_plan(const Method& m) {
  return m.axis == MethodAxis::Schedule || m.axis == MethodAxis::Precision;
}

}  // namespace

bool is_choice_param(std::string_view key) { return method_before(key) != nullptr; }

void apply_choice_param(Plan& plan, std::string_view key, std::string_view value,
                        const Place& place) {
  const Method& m = *method_before(key);
  const std::string_view name = key.substr(key.find('.') + 1);
  const ParamSpec* spec = find_spec(m, name);
  if (spec == nullptr) {
    std::vector<std::string_view> names;
    for (const ParamSpec& each : m.params) names.push_back(each.name);
    throw Error(Error::Kind::InvalidInput,
                std::string(m.name) + " has no parameter \"" + short_text(name) + "\"" +
                    (names.empty() ? "; it has none" : did_you_mean(name.substr(0, 80), names)),
                place);
  }
  const Choice* chosen = one_a_plan(m) ? chosen_on(plan, m.axis) : nullptr;
  if (one_a_plan(m) && (chosen == nullptr || chosen->method != m.name)) {
    const std::string axis(to_string(m.axis));
    throw Error(Error::Kind::InvalidInput,
                "expected " + axis + "=" + std::string(m.name) + " before " + short_text(key) +
                    ", found " + (chosen == nullptr ? "no " + axis : axis + "=" + chosen->method),
                place);
  }
  choice(plan, m.name).params.set(std::string(name), parse_param(*spec, value, place));
}

std::string choice_param(const Plan& plan, std::string_view key) {
  const Method& m = *method_before(key);
  const ParamSpec* spec = find_spec(m, key.substr(key.find('.') + 1));
  const Choice* chosen = find_choice(plan, m.name);
  if (spec == nullptr || chosen == nullptr) return "";
  const auto found = chosen->params.values().find(spec->name);
  return to_text(found != chosen->params.values().end() ? found->second : spec->fallback);
}

}  // namespace trainyard

// "tick-tock.offset": the parameters of the plan's schedule as settings, by its name.
#include <algorithm>

#include "core/base/nearest.h"
#include "core/methods/catalogue.h"
#include "core/methods/settings.h"

namespace trainyard {
namespace {

std::string short_text(std::string_view text) { return std::string(text.substr(0, 80)); }

const ParamSpec* find_spec(const Method& m, std::string_view name) {
  const auto found = std::find_if(m.params.begin(), m.params.end(),
                                  [&](const ParamSpec& spec) { return spec.name == name; });
  return found == m.params.end() ? nullptr : &*found;
}

const Method* schedule_before(std::string_view key) {
  const std::size_t dot = key.find('.');
  if (dot == std::string_view::npos) return nullptr;
  const Method* found = find_method(key.substr(0, dot));
  return found != nullptr && found->axis == MethodAxis::Schedule ? found : nullptr;
}

}  // namespace

bool is_schedule_param(std::string_view key) { return schedule_before(key) != nullptr; }

void apply_schedule_param(Plan& plan, std::string_view key, std::string_view value,
                          const Place& place) {
  const Method& m = *schedule_before(key);
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
  const Choice* chosen = chosen_on(plan, MethodAxis::Schedule);
  if (chosen == nullptr || chosen->method != m.name)
    throw Error(Error::Kind::InvalidInput,
                "expected schedule=" + std::string(m.name) + " before " + short_text(key) +
                    ", found " +
                    (chosen == nullptr ? std::string("no schedule") : "schedule=" + chosen->method),
                place);
  choice(plan, m.name).params.set(std::string(name), parse_param(*spec, value, place));
}

std::string schedule_param(const Plan& plan, std::string_view key) {
  const Method& m = *schedule_before(key);
  const ParamSpec* spec = find_spec(m, key.substr(key.find('.') + 1));
  const Choice* chosen = find_choice(plan, m.name);
  if (spec == nullptr || chosen == nullptr) return "";
  const auto found = chosen->params.values().find(spec->name);
  return to_text(found != chosen->params.values().end() ? found->second : spec->fallback);
}

}  // namespace trainyard

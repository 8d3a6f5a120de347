#include "core/methods/settings/setting_values.h"

#include <algorithm>
#include <charconv>

#include "core/base/nearest.h"

namespace trainyard {
namespace {

// A parameter of a chosen method, or of its defaults where the plan does not choose it.
const ParamSpec& spec_of(const Method& m, std::string_view name) {
  return *std::find_if(m.params.begin(), m.params.end(),
                       [&](const ParamSpec& s) { return s.name == name; });
}

}  // namespace

void refuse_value(const Place& place, const std::string& expected, std::string_view found) {
  throw Error(Error::Kind::InvalidInput,
              "expected " + expected + ", found \"" + std::string(found.substr(0, 80)) + "\"",
              place);
}

std::int64_t whole_number(std::string_view value, std::int64_t low, std::int64_t high,
                          const Place& place) {
  std::int64_t number = 0;
  const auto [end, failure] = std::from_chars(value.data(), value.data() + value.size(), number);
  const bool all = end == value.data() + value.size() && !value.empty();
  if (failure == std::errc::result_out_of_range ||
      (failure == std::errc() && all && (number < low || number > high)))
    refuse_value(
        place, "a whole number from " + std::to_string(low) + " to " + std::to_string(high), value);
  if (failure != std::errc() || !all)
    refuse_value(place, "a whole number such as " + std::to_string(std::max<std::int64_t>(low, 8)),
                 value);
  return number;
}

bool on_off(std::string_view value, const Place& place) {
  if (value == "on" || value == "true") return true;
  if (value == "off" || value == "false") return false;
  refuse_value(place, "on or off", value);
}

std::string on_off(bool value) { return value ? "on" : "off"; }

void set_param(Plan& plan, std::string_view method_name, std::string_view param,
               std::string_view value, const Place& place) {
  const Method& m = method(method_name);
  choice(plan, method_name)
      .params.set(std::string(param), parse_param(spec_of(m, param), value, place));
}

std::string read_param(const Plan& plan, std::string_view method_name, std::string_view param) {
  const Choice* chosen = find_choice(plan, method_name);
  if (chosen == nullptr) return "";
  const auto found = chosen->params.values().find(param);
  return to_text(found != chosen->params.values().end()
                     ? found->second
                     : spec_of(method(method_name), param).fallback);
}

void set_optional(Plan& plan, std::string_view method_name, std::string_view param,
                  std::string_view value, std::string_view none, const Place& place) {
  set_param(plan, method_name, param, value, place);
  if (value == none) remove_choice(plan, method_name);
}

std::string read_optional(const Plan& plan, std::string_view method_name, std::string_view param,
                          std::string_view none) {
  const std::string word = read_param(plan, method_name, param);
  return word.empty() ? std::string(none) : word;
}

std::vector<std::string_view> names_on(MethodAxis axis) {
  std::vector<std::string_view> names;
  for (const Method& m : methods())
    if (m.axis == axis) names.push_back(m.name);
  return names;
}

std::string list_of(const std::vector<std::string_view>& words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i)
    text += std::string(i == 0                  ? ""
                        : i + 1 == words.size() ? " or "
                                                : ", ") +
            std::string(words[i]);
  return text;
}

void expect_word(std::string_view value, const std::vector<std::string_view>& words,
                 const Place& place) {
  if (std::find(words.begin(), words.end(), value) != words.end()) return;
  throw Error(Error::Kind::InvalidInput,
              "expected " + list_of(words) + ", found \"" + std::string(value.substr(0, 80)) +
                  "\"" + did_you_mean(value.substr(0, 80), words),
              place);
}

// A plan has only one method on an exclusive axis, so choosing another replaces it.
void choose_on(Plan& plan, MethodAxis axis, std::string_view value, const Place& place) {
  const std::vector<std::string_view> names = names_on(axis);
  expect_word(value, names, place);
  for (std::string_view name : names)
    if (name != value) remove_choice(plan, name);
  choice(plan, value);
}

}  // namespace trainyard

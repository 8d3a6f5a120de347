#include "core/plan/params.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "core/base/nearest.h"

namespace trainyard {
namespace {

template <class T>
const T& get(const Params& params, std::string_view name) {
  const auto found = params.values().find(name);
  if (found == params.values().end())
    throw Error(Error::Kind::Internal, fmt::format("no parameter \"{}\" was set", name));
  if (const T* value = std::get_if<T>(&found->second)) return *value;
  throw Error(Error::Kind::Internal, fmt::format("parameter \"{}\" has another type", name));
}

std::string words(const std::vector<std::string_view>& list) {
  std::string text;
  for (std::size_t i = 0; i < list.size(); ++i)
    text += fmt::format("{}{}", i == 0 ? "" : i + 1 == list.size() ? " or " : ", ", list[i]);
  return text;
}

bool has_range(const ParamSpec& spec) { return spec.high < 1e18; }

/// Returns what a parameter expects: "a whole number from 0 to 3", "on or off", "none, selective or
/// full".
std::string expectation(const ParamSpec& spec) {
  const auto number = [&](std::string_view kind) {
    return has_range(spec) ? fmt::format("{} from {} to {}", kind, spec.low, spec.high)
                           : fmt::format("{} of at least {}", kind, spec.low);
  };
  struct Visitor {
    const ParamSpec& spec;
    decltype(number)& say;
    std::string operator()(bool) const { return "on or off"; }
    std::string operator()(std::int64_t) const { return say("a whole number"); }
    std::string operator()(double) const { return say("a number"); }
    std::string operator()(const std::string&) const {
      return spec.values.empty() ? "a word" : words(spec.values);
    }
  };
  return std::visit(Visitor{spec, number}, spec.fallback);
}

bool in_range(double value, const ParamSpec& spec) {
  return value >= spec.low && value <= spec.high;  // false for NaN
}

bool is_legal_word(const std::string& word, const ParamSpec& spec) {
  if (spec.refusal != nullptr) return spec.refusal(word).empty();
  if (spec.values.empty()) return true;
  for (std::string_view legal : spec.values)
    if (word == legal) return true;
  return false;
}

/// A whole number given for a floating-point parameter is accepted and converted.
ParamValue as_type_of(const ParamValue& value, const ParamSpec& spec) {
  const auto* whole = std::get_if<std::int64_t>(&value);
  if (whole != nullptr && std::holds_alternative<double>(spec.fallback))
    return static_cast<double>(*whole);
  return value;
}

bool is_legal(const ParamValue& given, const ParamSpec& spec) {
  const ParamValue value = as_type_of(given, spec);
  if (value.index() != spec.fallback.index()) return false;
  if (const auto* whole = std::get_if<std::int64_t>(&value))
    return in_range(static_cast<double>(*whole), spec);
  if (const auto* number = std::get_if<double>(&value)) return in_range(*number, spec);
  if (const auto* word = std::get_if<std::string>(&value)) return is_legal_word(*word, spec);
  return true;
}

std::string refusal(const ParamSpec& spec, std::string_view found) {
  if (spec.refusal != nullptr) return spec.refusal(found);
  return fmt::format("expected {}, found \"{}\"{}", expectation(spec), found.substr(0, 80),
                     did_you_mean(found.substr(0, 80), spec.values));
}

template <class T>
bool read(std::string_view text, T& value) {
  const char* end = text.data() + text.size();
  const auto [stop, failure] = std::from_chars(text.data(), end, value);
  return failure == std::errc() && stop == end;
}

/// Reads text as the type of the default into value; returns false where that is impossible.
bool read_as(const ParamSpec& spec, std::string_view text, ParamValue& value) {
  if (std::holds_alternative<bool>(spec.fallback)) {
    const bool on = text == "on" || text == "true";
    value = on;
    return on || text == "off" || text == "false";
  }
  if (std::holds_alternative<std::int64_t>(spec.fallback)) {
    std::int64_t whole = 0;
    const bool good = read(text, whole);
    value = whole;
    return good;
  }
  if (std::holds_alternative<double>(spec.fallback)) {
    double number = 0;
    const bool good = read(text, number);
    value = number;
    return good;
  }
  // Some parameters were boolean in older files and have further words now: true and false still
  // read as on and off.
  const bool switches = std::count(spec.values.begin(), spec.values.end(), "on") > 0;
  value = std::string(!switches ? text : text == "true" ? "on" : text == "false" ? "off" : text);
  return true;
}

}  // namespace

std::string to_text(const ParamValue& value) {
  struct Visitor {
    std::string operator()(bool b) const { return b ? "true" : "false"; }
    std::string operator()(std::int64_t n) const { return std::to_string(n); }
    std::string operator()(double d) const { return fmt::format("{}", d); }
    std::string operator()(const std::string& s) const { return s; }
  };
  return std::visit(Visitor{}, value);
}

bool Params::flag(std::string_view name) const { return get<bool>(*this, name); }
std::int64_t Params::integer(std::string_view name) const { return get<std::int64_t>(*this, name); }
double Params::number(std::string_view name) const { return get<double>(*this, name); }
const std::string& Params::text(std::string_view name) const& {
  return get<std::string>(*this, name);
}
std::string Params::text(std::string_view name) && { return get<std::string>(*this, name); }

ParamValue parse_param(const ParamSpec& spec, std::string_view text, const Place& place) {
  ParamValue value;
  if (!read_as(spec, text, value) || !is_legal(value, spec))
    throw Error(Error::Kind::InvalidInput, refusal(spec, text), place);
  return value;
}

Diagnostics check_params(const Params& params, std::span<const ParamSpec> specs,
                         const Place& place) {
  std::vector<std::string_view> names;
  for (const ParamSpec& spec : specs) names.push_back(spec.name);
  Diagnostics found;
  for (const auto& [name, value] : params.values()) {
    const ParamSpec* known = nullptr;
    for (const ParamSpec& spec : specs)
      if (spec.name == name) known = &spec;
    Diagnostic wrong;
    wrong.place = {place.text + "/" + name};
    if (known == nullptr)
      wrong.message = fmt::format("no parameter is called \"{}\"{}", name.substr(0, 80),
                                  did_you_mean(name, names));
    else if (!is_legal(value, *known))
      wrong.message = refusal(*known, to_text(value));
    if (!wrong.message.empty()) found.push_back(std::move(wrong));
  }
  return found;
}

Params with_defaults(const Params& given, std::span<const ParamSpec> specs) {
  Params all = given;
  for (const ParamSpec& spec : specs) {
    const auto found = given.values().find(spec.name);
    all.set(std::string(spec.name),
            found == given.values().end() ? spec.fallback : as_type_of(found->second, spec));
  }
  return all;
}

}  // namespace trainyard

// Params are a method's settings by name; a ParamSpec says what a setting means, its default and
// its range. The window builds its forms from the specs, and readers check values against them.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/base/error.h"

namespace trainyard {

using ParamValue = std::variant<bool, std::int64_t, double, std::string>;

struct ParamSpec {
  std::string_view name;                      // as in plan.json: "stage"
  ParamValue fallback;                        // the default; its type is the parameter's type
  std::string_view doc;                       // one line, with the unit where there is one
  double low = 0, high = 1e18;                // range of numbers, both ends included
  std::vector<std::string_view> values = {};  // legal words of a text; empty = any
  std::string (*refusal)(std::string_view) = nullptr;  // returns what is wrong with a text, "" when
                                                       // nothing is
};

std::string to_text(const ParamValue&);

class Params {
 public:
  Params() = default;
  Params(std::initializer_list<std::pair<const std::string, ParamValue>> values)
      : values_(values) {}

  void set(std::string name, ParamValue value) {
    values_.insert_or_assign(std::move(name), std::move(value));
  }
  bool has(std::string_view name) const { return values_.find(name) != values_.end(); }
  /// Each throws Error{Internal} when the name is missing or has another type, which cannot happen
  /// once complete() has filled in and checked the values.
  bool flag(std::string_view name) const;
  std::int64_t integer(std::string_view name) const;
  double number(std::string_view name) const;
  const std::string& text(std::string_view name) const&;
  /// Returns a copy, because the texts of a temporary Params are destroyed with it.
  std::string text(std::string_view name) &&;
  const std::map<std::string, ParamValue, std::less<>>& values() const { return values_; }
  friend bool operator==(const Params&, const Params&) = default;

 private:
  std::map<std::string, ParamValue, std::less<>> values_;
};

/// Reads text as the type of the spec's default and checks the range and legal words. Throws
/// Error{InvalidInput}.
ParamValue parse_param(const ParamSpec&, std::string_view text, const Place&);
/// Returns what is wrong with the given params: unknown names (with the nearest known one), wrong
/// types, values out of range.
Diagnostics check_params(const Params&, std::span<const ParamSpec>, const Place&);
/// Returns the given values, with the default for every spec that has no given value.
Params with_defaults(const Params&, std::span<const ParamSpec>);

}  // namespace trainyard

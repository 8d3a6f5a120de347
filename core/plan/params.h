// Params are a method's settings by name; a ParamSpec says what a setting means, its default and
// its range. The window builds its forms from these, the readers check against them.
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
  double low = 0, high = 1e18;                // numbers: closed range
  std::vector<std::string_view> values = {};  // text: the legal words, empty = any
  std::string (*refusal)(std::string_view) = nullptr;  // text: what is wrong with it, "" = nothing
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
  /// Each throws Error{Internal} when the name is missing or of another type: complete() has filled
  /// and checked them.
  bool flag(std::string_view name) const;
  std::int64_t integer(std::string_view name) const;
  double number(std::string_view name) const;
  const std::string& text(std::string_view name) const&;
  /// By value of a temporary, whose texts go with it.
  std::string text(std::string_view name) &&;
  const std::map<std::string, ParamValue, std::less<>>& values() const { return values_; }
  friend bool operator==(const Params&, const Params&) = default;

 private:
  std::map<std::string, ParamValue, std::less<>> values_;
};

/// Reads a word of text as the type of the spec's default and checks range and legal words. Throws
/// Error{InvalidInput}.
ParamValue parse_param(const ParamSpec&, std::string_view text, const Place&);
/// What is wrong with given params against specs: unknown names (with the nearest), types, ranges.
Diagnostics check_params(const Params&, std::span<const ParamSpec>, const Place&);
/// Given values, and the default for every spec that was not given.
Params with_defaults(const Params&, std::span<const ParamSpec>);

}  // namespace trainyard

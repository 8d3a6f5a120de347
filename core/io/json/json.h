// This file has JSON as values, read strictly and written canonically. Code that reads a document
// walks it with a JsonCursor, which knows its position, so that every error names file and JSON
// pointer.
#pragma once

#include <concepts>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/base/error.h"
#include "core/base/units.h"

namespace trainyard {

struct JsonMember;

class Json {
 public:
  using List = std::vector<Json>;
  using Object = std::vector<JsonMember>;  // in the order of the file; keys are unique

  Json();  // null
  Json(bool value);
  template <std::integral T>
    requires(!std::same_as<T, bool>)
  Json(T value);
  Json(double value);
  Json(const char* text);
  Json(std::string_view text);
  Json(std::string text);
  Json(List list);
  Json(Object object);
  static Json object();
  static Json list();

  bool is_null() const { return std::holds_alternative<std::nullptr_t>(value_); }
  const bool* boolean() const { return std::get_if<bool>(&value_); }
  const std::int64_t* integer() const { return std::get_if<std::int64_t>(&value_); }
  const double* real() const { return std::get_if<double>(&value_); }
  const std::string* text() const { return std::get_if<std::string>(&value_); }
  const List* as_list() const { return std::get_if<List>(&value_); }
  Object* as_object() { return std::get_if<Object>(&value_); }
  const Object* as_object() const { return std::get_if<Object>(&value_); }

  /// Returns the member of that name; null where there is none or this is not an object.
  const Json* find(std::string_view key) const;
  /// Sets or replaces a member; this must be an object.
  Json& set(std::string key, Json value);
  /// Appends to a list; this must be a list.
  Json& push(Json value);
  friend bool operator==(const Json&, const Json&);

 private:
  std::variant<std::nullptr_t, bool, std::int64_t, double, std::string, List, Object> value_;
};

struct JsonMember {
  std::string key;
  Json value;
  friend bool operator==(const JsonMember&, const JsonMember&) = default;
};

// These are defined here because Clang needs JsonMember to be complete where a variant of it is
// constructed.
inline Json::Json() = default;
inline Json::Json(bool value) : value_(value) {}
template <std::integral T>
  requires(!std::same_as<T, bool>)
Json::Json(T value) : value_(static_cast<std::int64_t>(value)) {}
inline Json::Json(double value) : value_(value) {}
inline Json::Json(const char* text) : value_(std::string(text)) {}
inline Json::Json(std::string_view text) : value_(std::string(text)) {}
inline Json::Json(std::string text) : value_(std::move(text)) {}
inline Json::Json(List list) : value_(std::move(list)) {}
inline Json::Json(Object object) : value_(std::move(object)) {}
inline Json Json::object() { return Json(Object{}); }
inline Json Json::list() { return Json(List{}); }

/// Parses strictly: UTF-8, one value, no comments, no duplicate keys, no trailing commas, numbers
/// that fit. A document beyond the limits (core/io/bytes/limits.h) is refused quickly and without
/// using its size in memory. Throws Error{InvalidInput} at "SOURCE:LINE:COLUMN".
Json parse_json(std::string_view text, std::string_view source);

/// Writes canonically: keys sorted, two spaces of indent, lists of plain values on one line,
/// doubles in the shortest form that reads back the same, a newline at the end. Equal values give
/// equal bytes. Throws Error{Internal} for numbers that are not finite, which JSON cannot express.
std::string write_json(const Json&);
/// Writes the same on one line.
std::string write_json_line(const Json&);

/// A JsonCursor is a value and its position. It is cheap to copy; the document must outlive it. All
/// getters throw Error{InvalidInput} at "SOURCE#/pointer", saying what was expected and what was
/// found.
class JsonCursor {
 public:
  JsonCursor(const Json& root, std::string source) : value_(&root), source_(std::move(source)) {}

  const Json& value() const { return *value_; }
  Place place() const { return {source_ + "#" + pointer_}; }
  [[noreturn]] void refuse(const std::string& sentence) const;
  /// Throws "expected EXPECTED, found ...", with the value at this position in words.
  [[noreturn]] void expected(const std::string& what) const;

  bool has(std::string_view key) const;                        // present, and not null
  JsonCursor at(std::string_view key) const;                   // throws where it is missing
  std::optional<JsonCursor> find(std::string_view key) const;  // present and not null
  std::vector<JsonCursor> items() const;                       // items of a list
  std::vector<std::string> keys() const;                       // keys of an object

  std::string text() const;
  bool boolean() const;
  std::int64_t integer(std::int64_t low = std::numeric_limits<std::int64_t>::min(),
                       std::int64_t high = std::numeric_limits<std::int64_t>::max()) const;
  double number() const;  // accepts integers too
  /// Returns one of the names; throws with the nearest for another text.
  std::string one_of(const std::vector<std::string>& names) const;
  /// Quantities are texts with a unit (core/base/units_text.h).
  Bytes bytes() const;
  BytesPerSecond bandwidth() const;
  FlopsPerSecond throughput() const;
  Duration duration() const;

  /// Returns a diagnostic with the nearest key for each member whose key is not in the list.
  Diagnostics unknown_keys(const std::vector<std::string>& known) const;
  /// Throws these diagnostics, if there are any.
  void expect_keys(const std::vector<std::string>& known) const;

 private:
  JsonCursor step(const Json& value, const std::string& token) const;
  const Json* value_;
  std::string source_, pointer_;
};

}  // namespace trainyard

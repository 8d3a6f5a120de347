#include "core/io/json/json.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "core/base/nearest.h"
#include "core/base/printable.h"
#include "core/base/units_text.h"
#include "core/io/bytes/limits.h"

namespace trainyard {
namespace {

std::string shortened(std::string_view text) {
  constexpr std::size_t kMost = 60;
  return text.size() <= kMost ? std::string(text) : std::string(text.substr(0, kMost)) + "...";
}

std::string in_words(const Json& value) {
  if (value.is_null()) return "null";
  if (const auto* boolean = value.boolean()) return *boolean ? "true" : "false";
  if (const auto* integer = value.integer()) return std::to_string(*integer);
  if (const auto* real = value.real()) {
    const std::string text = to_text(*real);
    return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;  // distinguishes
                                                                                // 4096.0 from 4096
  }
  if (const auto* text = value.text()) return "the text \"" + shortened(*text) + "\"";
  if (const auto* list = value.as_list()) return "a list of " + std::to_string(list->size());
  return "an object";
}

// TreeBuilder builds the value from the parser's events; the parser itself keeps no stack that deep
// nesting could exhaust.
class TreeBuilder {
 public:
  using number_integer_t = nlohmann::json::number_integer_t;
  using number_unsigned_t = nlohmann::json::number_unsigned_t;
  using number_float_t = nlohmann::json::number_float_t;
  using string_t = nlohmann::json::string_t;
  using binary_t = nlohmann::json::binary_t;

  Json result;
  std::string problem;  // a sentence; empty where there is no problem
  bool at_end = false;  // whether the problem is that the text ended

  bool null() { return put(Json()); }
  bool boolean(bool value) { return put(Json(value)); }
  bool number_integer(number_integer_t value) { return put(Json(std::int64_t{value})); }
  bool number_unsigned(number_unsigned_t value) {
    if (value > static_cast<number_unsigned_t>(std::numeric_limits<std::int64_t>::max()))
      return put(Json(static_cast<double>(value)));
    return put(Json(static_cast<std::int64_t>(value)));
  }
  bool number_float(number_float_t value, const string_t&) {
    if (!std::isfinite(value))
      return stop("expected numbers that fit a double, found one that does not");
    return put(Json(value));
  }
  bool string(string_t& text) { return put(Json(std::move(text))); }
  bool binary(binary_t&) { return stop("expected text"); }

  bool start_object(std::size_t) { return open(Json::object()); }
  bool key(string_t& name) {
    if (!seen_.back().insert(name).second)
      return stop("found the key \"" + shortened(name) + "\" twice in one object");
    key_.back() = std::move(name);
    return true;
  }
  bool end_object() { return close(); }
  bool start_array(std::size_t) { return open(Json::list()); }
  bool end_array() { return close(); }

  bool parse_error(std::size_t, const std::string& token,
                   const nlohmann::detail::exception& error) {
    at_end =
        std::string_view(error.what()).find("unexpected end of input") != std::string_view::npos;
    problem = "expected JSON" + reason(error.what());
    if (!at_end && !token.empty() && problem.find(token) == std::string::npos)
      problem += ", found \"" + printable(shortened(token)) + "\"";
    return false;
  }

 private:
  std::vector<Json> open_;
  std::vector<std::string> key_;
  std::vector<std::set<std::string>> seen_;
  std::size_t values_ = 0;

  bool stop(std::string sentence) {
    problem = std::move(sentence);
    return false;
  }
  bool open(Json container) {
    if (open_.size() >= kDeepestNesting)
      return stop("expected at most " + std::to_string(kDeepestNesting) +
                  " levels of nesting, found more");
    open_.push_back(std::move(container));
    key_.emplace_back();
    seen_.emplace_back();
    return true;
  }
  bool close() {
    Json done = std::move(open_.back());
    open_.pop_back();
    key_.pop_back();
    seen_.pop_back();
    return put(std::move(done));
  }
  bool put(Json value) {
    if (++values_ > kMostValues)
      return stop("expected at most " + std::to_string(kMostValues) + " values, found more");
    if (open_.empty()) {
      result = std::move(value);
    } else if (open_.back().as_list()) {
      open_.back().push(std::move(value));
    } else {
      append(std::move(value));
    }
    return true;
  }
  // Keys are known to be new here, so this need not search as set() does.
  void append(Json value) {
    open_.back().as_object()->push_back({std::move(key_.back()), std::move(value)});
  }

  // The library's message ends with what it expected: "...; expected ']'". The part before that
  // repeats our own words.
  std::string reason(const std::string& what) const {
    if (at_end) return ", found the end of the text";
    if (what.find("invalid UTF-8") != std::string::npos)
      return " in UTF-8, found bytes that are not";
    const std::size_t wanted = what.rfind("; expected ");
    return wanted == std::string::npos ? "" : " with " + what.substr(wanted + 11) + " here";
  }
};

// A CountingIterator counts what the parser has read, because its events do not state their
// position.
class CountingIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  CountingIterator(const char* at, std::size_t* count) : at_(at), count_(count) {}
  const char& operator*() const { return *at_; }
  CountingIterator& operator++() {
    ++at_;
    ++*count_;
    return *this;
  }
  CountingIterator operator++(int) {
    CountingIterator old = *this;
    ++*this;
    return old;
  }
  friend bool operator==(const CountingIterator& a, const CountingIterator& b) {
    return a.at_ == b.at_;
  }

 private:
  const char* at_;
  std::size_t* count_;
};

// Returns the position of the last byte that was read, counted from 1.
std::string line_and_column(std::string_view text, std::size_t read) {
  const std::string_view before = text.substr(0, read > 0 ? read - 1 : 0);
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const std::size_t newline = before.rfind('\n');
  const std::size_t column =
      before.size() - (newline == std::string_view::npos ? 0 : newline + 1) + 1;
  return std::to_string(line) + ":" + std::to_string(column);
}

}  // namespace

const Json* Json::find(std::string_view key) const {
  const Object* members = as_object();
  if (!members) return nullptr;
  for (const JsonMember& member : *members)
    if (member.key == key) return &member.value;
  return nullptr;
}

Json& Json::set(std::string key, Json value) {
  auto& members = std::get<Object>(value_);
  for (JsonMember& member : members)
    if (member.key == key) return member.value = std::move(value), *this;
  members.push_back({std::move(key), std::move(value)});
  return *this;
}

Json& Json::push(Json value) {
  std::get<List>(value_).push_back(std::move(value));
  return *this;
}

bool operator==(const Json& a, const Json& b) { return a.value_ == b.value_; }

Json parse_json(std::string_view text, std::string_view source) {
  const std::string name(source);
  if (text.size() > static_cast<std::size_t>(kLargestDocument.value))
    throw Error(Error::Kind::InvalidInput,
                "expected at most " + readable(kLargestDocument) + " of JSON, found " +
                    readable(Bytes{static_cast<std::int64_t>(text.size())}),
                Place{name});
  TreeBuilder tree;
  std::size_t read = 0;
  const CountingIterator begin(text.data(), &read), end(text.data() + text.size(), &read);
  if (nlohmann::json::sax_parse(begin, end, &tree)) return std::move(tree.result);
  throw Error(Error::Kind::InvalidInput, tree.problem,
              Place{name + ":" + line_and_column(text, tree.at_end ? text.size() + 1 : read)});
}

namespace {

void write_real(std::string& out, double number) {
  if (!std::isfinite(number))
    throw Error(Error::Kind::Internal, "a number that is not finite cannot be written as JSON");
  char buffer[32];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, number).ptr;
  const std::string_view digits(buffer, static_cast<std::size_t>(end - buffer));
  out += digits;
  // A double with a whole value gets ".0", so that it is a double again when it is read.
  if (digits.find_first_of(".e") == std::string_view::npos) out += ".0";
}

// The library escapes control characters below 0x20 only. Those from 0x7F to 0x9F act on a terminal
// just as well, and printable() shows them with this same escape.
std::string quoted(const std::string& text) {
  const std::string json =
      nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  return json.find('\x7f') == std::string::npos && json.find('\xc2') == std::string::npos
             ? json
             : printable(json);
}

bool is_plain(const Json& value) { return !value.as_list() && !value.as_object(); }

struct Writer {
  bool pretty;
  std::string out = {};

  void newline(int level) {
    if (pretty) out += "\n" + std::string(static_cast<std::size_t>(2 * level), ' ');
  }

  void write(const Json& value, int level) {
    if (value.is_null()) out += "null";
    if (const auto* boolean = value.boolean()) out += *boolean ? "true" : "false";
    if (const auto* integer = value.integer()) out += std::to_string(*integer);
    if (const auto* real = value.real()) write_real(out, *real);
    if (const auto* text = value.text()) out += quoted(*text);
    if (const auto* list = value.as_list()) write_list(*list, level);
    if (const auto* object = value.as_object()) write_object(*object, level);
  }

  void write_list(const Json::List& list, int level) {
    const bool one_line = std::all_of(list.begin(), list.end(), is_plain);
    out += "[";
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (i > 0) out += one_line && pretty ? ", " : ",";
      if (!one_line) newline(level + 1);
      write(list[i], level + 1);
    }
    if (!one_line) newline(level);
    out += "]";
  }

  void write_object(const Json::Object& object, int level) {
    std::vector<const JsonMember*> sorted;
    for (const JsonMember& member : object) sorted.push_back(&member);
    std::sort(sorted.begin(), sorted.end(),
              [](const auto* a, const auto* b) { return a->key < b->key; });
    out += "{";
    for (std::size_t i = 0; i < sorted.size(); ++i) {
      if (i > 0) out += ",";
      newline(level + 1);
      out += quoted(sorted[i]->key) + (pretty ? ": " : ":");
      write(sorted[i]->value, level + 1);
    }
    if (!sorted.empty()) newline(level);
    out += "}";
  }
};

}  // namespace

std::string write_json(const Json& value) {
  Writer writer{true};
  writer.write(value, 0);
  return std::move(writer.out) + "\n";
}

std::string write_json_line(const Json& value) {
  Writer writer{false};
  writer.write(value, 0);
  return std::move(writer.out);
}

void JsonCursor::refuse(const std::string& sentence) const {
  throw Error(Error::Kind::InvalidInput, sentence, place());
}

void JsonCursor::expected(const std::string& what) const {
  refuse("expected " + what + ", found " + in_words(*value_));
}

JsonCursor JsonCursor::step(const Json& value, const std::string& token) const {
  JsonCursor next = *this;
  next.value_ = &value;
  next.pointer_ += '/';
  for (char c : token) {  // escapes by RFC 6901
    if (c == '~')
      next.pointer_ += "~0";
    else if (c == '/')
      next.pointer_ += "~1";
    else
      next.pointer_ += c;
  }
  return next;
}

bool JsonCursor::has(std::string_view key) const {
  const Json* member = value_->find(key);
  return member && !member->is_null();
}

JsonCursor JsonCursor::at(std::string_view key) const {
  if (!value_->as_object()) expected("an object");
  const Json* member = value_->find(key);
  if (!member)
    refuse("expected the key \"" + std::string(key) + "\", which is missing" +
           did_you_mean(key, keys()));
  return step(*member, std::string(key));
}

std::optional<JsonCursor> JsonCursor::find(std::string_view key) const {
  if (!value_->as_object()) expected("an object");
  if (!has(key)) return std::nullopt;
  return at(key);
}

std::vector<JsonCursor> JsonCursor::items() const {
  const Json::List* list = value_->as_list();
  if (!list) expected("a list");
  std::vector<JsonCursor> cursors;
  for (std::size_t i = 0; i < list->size(); ++i)
    cursors.push_back(step((*list)[i], std::to_string(i)));
  return cursors;
}

std::vector<std::string> JsonCursor::keys() const {
  const Json::Object* object = value_->as_object();
  if (!object) expected("an object");
  std::vector<std::string> names;
  for (const JsonMember& member : *object) names.push_back(member.key);
  return names;
}

std::string JsonCursor::text() const {
  if (const std::string* found = value_->text()) return *found;
  expected("text");
}

bool JsonCursor::boolean() const {
  if (const bool* found = value_->boolean()) return *found;
  expected("true or false");
}

std::int64_t JsonCursor::integer(std::int64_t low, std::int64_t high) const {
  const std::int64_t* found = value_->integer();
  if (found && *found >= low && *found <= high) return *found;
  std::string range;
  if (high != std::numeric_limits<std::int64_t>::max()) {
    range = " from " + std::to_string(low) + " to " + std::to_string(high);
  } else if (low != std::numeric_limits<std::int64_t>::min()) {
    range = " of at least " + std::to_string(low);
  }
  expected("a whole number" + range);
}

double JsonCursor::number() const {
  if (const std::int64_t* found = value_->integer()) return static_cast<double>(*found);
  if (const double* found = value_->real()) return *found;
  expected("a number");
}

std::string JsonCursor::one_of(const std::vector<std::string>& names) const {
  const std::string found = text();
  if (std::find(names.begin(), names.end(), found) != names.end()) return found;
  std::string list;
  for (std::size_t i = 0; i < names.size(); ++i) list += (i == 0 ? "" : ", ") + names[i];
  refuse("expected one of " + list + ", found \"" + shortened(found) + "\"" +
         did_you_mean(found, names));
}

namespace {

// A bare number is passed on too, so that the user gets the message that says which unit to append.
std::string quantity_text(const JsonCursor& cursor, const char* what) {
  const Json& value = cursor.value();
  if (const std::string* text = value.text()) return *text;
  if (const std::int64_t* number = value.integer()) return std::to_string(*number);
  if (const double* number = value.real()) return to_text(*number);
  cursor.expected(what);
}

}  // namespace

Bytes JsonCursor::bytes() const {
  return parse_bytes(quantity_text(*this, "an amount of memory as text"), place());
}
BytesPerSecond JsonCursor::bandwidth() const {
  return parse_bandwidth(quantity_text(*this, "a bandwidth as text"), place());
}
FlopsPerSecond JsonCursor::throughput() const {
  return parse_throughput(quantity_text(*this, "a compute rate as text"), place());
}
Duration JsonCursor::duration() const {
  return parse_duration(quantity_text(*this, "a time as text"), place());
}

Diagnostics JsonCursor::unknown_keys(const std::vector<std::string>& known) const {
  Diagnostics list;
  for (const std::string& key : keys()) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    list.push_back({Diagnostic::Severity::Error,
                    "unknown key \"" + shortened(key) + "\"" + did_you_mean(key, known),
                    step(*value_->find(key), key).place(), ""});
  }
  return list;
}

void JsonCursor::expect_keys(const std::vector<std::string>& known) const {
  throw_if_errors(unknown_keys(known));
}

}  // namespace trainyard

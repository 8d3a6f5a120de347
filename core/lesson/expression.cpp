#include "core/lesson/expression.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>

#include "core/base/nearest.h"
#include "core/base/units_text.h"

namespace trainyard {
namespace {

using Node = ExpressionNode;
using Kind = ExpressionNode::Kind;

constexpr int kDepth = 60;
constexpr std::size_t kLongestExpression = 400;  // characters; this bounds the depth of the tree

bool starts_name(char c) { return std::isalpha(static_cast<unsigned char>(c)) || c == '_'; }
bool in_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }
bool digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

class ExpressionReader {
 public:
  ExpressionReader(std::string_view text, const Place& place) : text_(text), place_(place) {}

  Node read() {
    if (text_.size() > kLongestExpression)
      throw Error(Error::Kind::InvalidInput,
                  "expected an expression of at most " + std::to_string(kLongestExpression) +
                      " characters, found " + std::to_string(text_.size()),
                  place_);
    Node node = either(0);
    skip();
    if (at_ < text_.size()) refuse("an operator or the end");
    return node;
  }

 private:
  [[noreturn]] void refuse(const std::string& expected) const {
    const std::string found =
        at_ < text_.size() ? "\"" + std::string(text_.substr(at_, 12)) + "\"" : "the end";
    throw Error(Error::Kind::InvalidInput,
                "expected " + expected + " at character " + std::to_string(at_ + 1) + " of \"" +
                    std::string(text_.substr(0, 80)) + "\", found " + found,
                place_);
  }
  void skip() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool take(std::string_view word) {
    skip();
    if (text_.substr(at_, word.size()) != word) return false;
    if (starts_name(word[0]) && at_ + word.size() < text_.size() &&
        in_name(text_[at_ + word.size()]))
      return false;
    at_ += word.size();
    return true;
  }
  void expect(std::string_view word) {
    if (!take(word)) refuse("\"" + std::string(word) + "\"");
  }
  static Node joined(std::string_view op, Node left, Node right) {
    Node node{Kind::Operator, 0, std::string(op), {}};
    node.parts.push_back(std::move(left));
    node.parts.push_back(std::move(right));
    return node;
  }

  Node either(int depth) {
    Node left = both(depth);
    while (take("or")) left = joined("or", std::move(left), both(depth));
    return left;
  }
  Node both(int depth) {
    Node left = compared(depth);
    while (take("and")) left = joined("and", std::move(left), compared(depth));
    return left;
  }
  Node compared(int depth) {
    Node left = sum(depth);
    for (const std::string_view op : {"<=", ">=", "==", "<", ">"})
      if (take(op)) return joined(op, std::move(left), sum(depth));
    return left;
  }
  Node sum(int depth) {
    Node left = product(depth);
    for (;;) {
      if (take("+"))
        left = joined("+", std::move(left), product(depth));
      else if (take("-"))
        left = joined("-", std::move(left), product(depth));
      else
        return left;
    }
  }
  Node product(int depth) {
    Node left = plain(depth);
    for (;;) {
      if (take("*"))
        left = joined("*", std::move(left), plain(depth));
      else if (take("/"))
        left = joined("/", std::move(left), plain(depth));
      else
        return left;
    }
  }
  Node plain(int depth) {
    if (depth > kDepth) refuse("fewer parentheses");
    skip();
    if (take("-")) return joined("-", Node{}, plain(depth + 1));
    if (take("(")) {
      Node node = either(depth + 1);
      expect(")");
      return node;
    }
    if (at_ < text_.size() && text_[at_] == '\'') {
      Node node;
      const std::string words = quoted();
      node.number = parse_lesson_number(words, place_);
      return node;
    }
    if (at_ < text_.size() && (digit(text_[at_]) || text_[at_] == '.')) return number();
    if (at_ < text_.size() && starts_name(text_[at_])) return named(depth);
    refuse("a number, a name or \"(\"");
  }
  Node number() {
    const std::size_t from = at_;
    while (at_ < text_.size() && (digit(text_[at_]) || text_[at_] == '.')) ++at_;
    if (at_ + 1 < text_.size() && text_[at_] == 'e' &&
        (digit(text_[at_ + 1]) ||
         (text_[at_ + 1] == '-' && at_ + 2 < text_.size() && digit(text_[at_ + 2])))) {
      at_ += 2;
      while (at_ < text_.size() && digit(text_[at_])) ++at_;
    }
    Node node;
    node.number = parse_number(text_.substr(from, at_ - from), place_);
    return node;
  }
  std::string quoted() {
    const std::size_t end = text_.find('\'', at_ + 1);
    if (end == std::string_view::npos) refuse("a closing \"'\"");
    std::string words(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return words;
  }
  Node named(int depth) {
    const std::size_t from = at_;
    while (at_ < text_.size() && in_name(text_[at_])) ++at_;
    Node node{Kind::Name, 0, std::string(text_.substr(from, at_ - from)), {}};
    if (!take("(")) return node;
    if (node.name == "at") {
      node.kind = Kind::At;
      skip();
      if (at_ >= text_.size() || text_[at_] != '\'') refuse("settings as 'key=value'");
      node.with = parse_lesson_settings(quoted(), place_);
      expect(",");
      node.parts.push_back(either(depth + 1));
      expect(")");
      return node;
    }
    node.kind = Kind::Call;
    if (!take(")")) {
      node.parts.push_back(either(depth + 1));
      while (take(",")) node.parts.push_back(either(depth + 1));
      expect(")");
    }
    const LessonFunction* function = find_lesson_function(node.name);
    const std::size_t wanted =
        function == nullptr ? 1 : static_cast<std::size_t>(function->arguments);
    if (node.parts.size() != wanted)
      throw Error(Error::Kind::InvalidInput,
                  "expected " + std::to_string(wanted) + " arguments of " + node.name + ", found " +
                      std::to_string(node.parts.size()),
                  place_);
    return node;
  }

  std::string_view text_;
  const Place& place_;
  std::size_t at_ = 0;
};

void gather(const Node& node, Kind kind, std::vector<std::string>& names) {
  if (node.kind == kind && (kind == Kind::Name || find_lesson_function(node.name) == nullptr))
    names.push_back(node.name);
  for (const Node& part : node.parts) gather(part, kind, names);
}

double operated(const std::string& op, double a, double b) {
  if (op == "+") return a + b;
  if (op == "-") return a - b;
  if (op == "*") return a * b;
  if (op == "/") return a / b;
  if (op == "<") return a < b ? 1 : 0;
  if (op == ">") return a > b ? 1 : 0;
  if (op == "<=") return a <= b ? 1 : 0;
  if (op == ">=") return a >= b ? 1 : 0;
  if (op == "==") return a == b ? 1 : 0;
  if (op == "and") return a != 0 && b != 0 ? 1 : 0;
  return a != 0 || b != 0 ? 1 : 0;
}

double value_of(const Node& node, const LessonQuantities& given, const LessonSettings& settings) {
  switch (node.kind) {
    case Kind::Number:
      return node.number;
    case Kind::Name:
      return given.quantity(node.name, settings);
    case Kind::At:
      return value_of(node.parts[0], given, with_settings(settings, node.with));
    case Kind::Operator:
      return operated(node.name, value_of(node.parts[0], given, settings),
                      value_of(node.parts[1], given, settings));
    case Kind::Call:
      break;
  }
  std::vector<double> arguments;
  for (const Node& part : node.parts) arguments.push_back(value_of(part, given, settings));
  if (const LessonFunction* function = find_lesson_function(node.name))
    return function->value(arguments.data());
  return given.quantity(node.name, arguments[0], settings);
}

}  // namespace

LessonSettings parse_lesson_settings(std::string_view words, const Place& place) {
  LessonSettings settings;
  while (!words.empty()) {
    const std::size_t end = std::min(words.find(' '), words.size());
    const std::string_view word = words.substr(0, end);
    words.remove_prefix(std::min(end + 1, words.size()));
    if (word.empty()) continue;
    const std::size_t equals = word.find('=');
    if (equals == std::string_view::npos || equals == 0)
      throw Error(Error::Kind::InvalidInput,
                  "expected KEY=VALUE, found \"" + std::string(word) + "\"", place);
    settings[std::string(word.substr(0, equals))] = word.substr(equals + 1);
  }
  return settings;
}

LessonSettings with_settings(LessonSettings first, const LessonSettings& second) {
  for (const auto& [key, value] : second) first[key] = value;
  return first;
}

std::string to_text(const LessonSettings& settings) {
  std::string text;
  for (const auto& [key, value] : settings)
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", key, value);
  return text;
}

Expression::Expression(std::string_view text, const Place& place)
    : text_(text), root_(ExpressionReader(text, place).read()) {}

std::vector<std::string> Expression::names() const {
  std::vector<std::string> found;
  gather(root_, Kind::Name, found);
  return found;
}

std::vector<std::string> Expression::indexed() const {
  std::vector<std::string> found;
  gather(root_, Kind::Call, found);
  return found;
}

double evaluate(const Expression& expression, const LessonQuantities& given,
                const LessonSettings& settings) {
  return value_of(expression.root(), given, settings);
}

double parse_lesson_number(std::string_view text, const Place& place) {
  const auto ends = [&](std::string_view tail) {
    return text.size() >= tail.size() && text.substr(text.size() - tail.size()) == tail;
  };
  if (ends("%")) return parse_number(text.substr(0, text.size() - 1), place) / 100;
  if (ends("FLOP/s")) return parse_throughput(text, place).value;
  if (ends("/s")) return parse_bandwidth(text, place).value;
  if (ends("B")) return static_cast<double>(parse_bytes(text, place).value);
  const bool word =
      !text.empty() && std::isalpha(static_cast<unsigned char>(text[text.size() - 1])) != 0;
  return word ? to_seconds(parse_duration(text, place)) : parse_number(text, place);
}

}  // namespace trainyard

#include "core/model/formula.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "core/base/error.h"
#include "core/base/nearest.h"

namespace trainyard {
namespace {

constexpr std::size_t kLongestFormula = 400;  // characters
constexpr std::size_t kDeepest = 40;          // parentheses, and numbers that wait for an operation

struct FormulaFunction {
  std::string_view name;
  std::size_t arguments;
  double (*value)(const double*);
};
// Halves go to the even neighbour, as formats of numbers round them.
constexpr std::array kFunctions = {
    FormulaFunction{"abs", 1, [](const double* a) { return std::abs(a[0]); }},
    FormulaFunction{"ceil", 1, [](const double* a) { return std::ceil(a[0]); }},
    FormulaFunction{"cos", 1, [](const double* a) { return std::cos(a[0]); }},
    FormulaFunction{"erf", 1, [](const double* a) { return std::erf(a[0]); }},
    FormulaFunction{"exp", 1, [](const double* a) { return std::exp(a[0]); }},
    FormulaFunction{"floor", 1, [](const double* a) { return std::floor(a[0]); }},
    FormulaFunction{"log", 1, [](const double* a) { return std::log(a[0]); }},
    FormulaFunction{"round", 1, [](const double* a) { return std::nearbyint(a[0]); }},
    FormulaFunction{"sign", 1,
                    [](const double* a) { return a[0] > 0   ? 1.0
                                                 : a[0] < 0 ? -1.0
                                                            : 0.0; }},
    FormulaFunction{"sin", 1, [](const double* a) { return std::sin(a[0]); }},
    FormulaFunction{"sqrt", 1, [](const double* a) { return std::sqrt(a[0]); }},
    FormulaFunction{"tanh", 1, [](const double* a) { return std::tanh(a[0]); }},
    FormulaFunction{"max", 2, [](const double* a) { return std::max(a[0], a[1]); }},
    FormulaFunction{"min", 2, [](const double* a) { return std::min(a[0], a[1]); }},
    FormulaFunction{"pow", 2, [](const double* a) { return std::pow(a[0], a[1]); }},
    FormulaFunction{"clamp", 3,
                    [](const double* a) { return std::min(std::max(a[0], a[1]), a[2]); }},
};

bool formula_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool formula_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

// It reads by recursive descent and writes the steps in postfix order as it goes.
class FormulaReader {
 public:
  using Code = Formula::Code;

  FormulaReader(std::string_view text, std::span<const std::string> names)
      : text_(text), names_(names) {}

  std::vector<Formula::Step> read() {
    if (text_.size() > kLongestFormula)
      throw Error(Error::Kind::InvalidInput,
                  "expected a formula of at most " + std::to_string(kLongestFormula) +
                      " characters, found " + std::to_string(text_.size()));
    compared();
    skip();
    if (at_ < text_.size()) refuse("an operator or the end");
    return std::move(steps_);
  }

 private:
  [[noreturn]] void refuse(const std::string& expected, const std::string& hint = {}) const {
    const std::string found =
        at_ < text_.size() ? "\"" + std::string(text_.substr(at_, 12)) + "\"" : "the end";
    throw Error(Error::Kind::InvalidInput,
                "expected " + expected + " at character " + std::to_string(at_ + 1) + " of \"" +
                    std::string(text_.substr(0, 80)) + "\", found " + found + hint);
  }
  void skip() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool take(std::string_view word) {
    skip();
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }
  void push(Code code, std::size_t at = 0, double number = 0) {
    if (code == Code::Number || code == Code::Name) ++waiting_;
    if (waiting_ > kDeepest) refuse("fewer numbers that wait for an operation");
    if (code >= Code::Add && code <= Code::Equal) --waiting_;
    if (code == Code::Function) waiting_ -= kFunctions[at].arguments - 1;
    steps_.push_back({code, static_cast<std::uint8_t>(at), number});
  }

  void compared() {
    sum();
    constexpr std::pair<std::string_view, Code> kSigns[] = {{"<=", Code::LessOrEqual},
                                                            {">=", Code::GreaterOrEqual},
                                                            {"==", Code::Equal},
                                                            {"<", Code::Less},
                                                            {">", Code::Greater}};
    for (const auto& [sign, code] : kSigns)
      if (take(sign)) {
        sum();
        return push(code);
      }
  }
  void sum() {
    product();
    for (;;)
      if (take("+"))
        product(), push(Code::Add);
      else if (take("-"))
        product(), push(Code::Subtract);
      else
        return;
  }
  void product() {
    plain();
    for (;;)
      if (take("*"))
        plain(), push(Code::Multiply);
      else if (take("/"))
        plain(), push(Code::Divide);
      else
        return;
  }
  void plain() {
    if (++depth_ > kDeepest) refuse("fewer parentheses and signs");
    if (take("-")) {
      plain();
      push(Code::Negative);
    } else if (take("(")) {
      compared();
      if (!take(")")) refuse("\")\"");
    } else {
      skip();
      if (at_ < text_.size() && (formula_digit(text_[at_]) || text_[at_] == '.'))
        number();
      else if (at_ < text_.size() && formula_letter(text_[at_]))
        named();
      else
        refuse("a number, a name or \"(\"");
    }
    --depth_;
  }
  void number() {
    double value = 0;
    const auto [end, error] =
        std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (error != std::errc{}) refuse("a number that doubles can hold");
    at_ = static_cast<std::size_t>(end - text_.data());
    push(Code::Number, 0, value);
  }
  void named() {
    const std::size_t from = at_;
    while (at_ < text_.size() && (formula_letter(text_[at_]) || formula_digit(text_[at_]))) ++at_;
    const std::string_view word = text_.substr(from, at_ - from);
    if (take("(")) return called(word, from);
    const std::string_view full = word == "x" ? "x0" : word;
    const auto known = std::find(names_.begin(), names_.end(), full);
    if (known != names_.end())
      return push(Code::Name, static_cast<std::size_t>(known - names_.begin()));
    at_ = from;
    std::string list;
    for (const std::string& name : names_) list += (list.empty() ? "" : ", ") + name;
    refuse("one of " + list,
           did_you_mean(word, std::vector<std::string>(names_.begin(), names_.end())));
  }
  void called(std::string_view word, std::size_t from) {
    std::size_t f = 0;
    std::vector<std::string_view> known;
    for (const FormulaFunction& function : kFunctions) known.push_back(function.name);
    while (f < kFunctions.size() && kFunctions[f].name != word) ++f;
    if (f == kFunctions.size()) {
      at_ = from;
      refuse("the name of a function", did_you_mean(word, known));
    }
    compared();
    for (std::size_t i = 1; i < kFunctions[f].arguments; ++i) {
      if (!take(","))
        refuse("\",\" and " + std::to_string(kFunctions[f].arguments) + " arguments of " +
               std::string(word));
      compared();
    }
    if (!take(")")) refuse("\")\"");
    push(Code::Function, f);
  }

  std::string_view text_;
  std::span<const std::string> names_;
  std::vector<Formula::Step> steps_;
  std::size_t at_ = 0, depth_ = 0, waiting_ = 0;
};

Formula::Formula(std::string_view text, std::span<const std::string> names)
    : text_(text), steps_(FormulaReader(text, names).read()) {}

bool Formula::reads(std::size_t name) const {
  return std::any_of(steps_.begin(), steps_.end(),
                     [&](const Step& s) { return s.code == Code::Name && s.at == name; });
}

int Formula::operations() const {
  return static_cast<int>(std::count_if(steps_.begin(), steps_.end(), [](const Step& s) {
    return s.code != Code::Name && s.code != Code::Number;
  }));
}

double Formula::operator()(std::span<const double> numbers) const {
  std::array<double, kDeepest + 1> stack;
  double* top = stack.data();  // one past the last number that waits
  for (const Step& s : steps_) switch (s.code) {
      case Code::Number:
        *top++ = s.number;
        break;
      case Code::Name:
        *top++ = numbers[s.at];
        break;
      case Code::Negative:
        top[-1] = -top[-1];
        break;
      case Code::Function: {
        const FormulaFunction& function = kFunctions[s.at];
        top -= function.arguments;
        *top = function.value(top);
        ++top;
        break;
      }
      default: {
        const double b = *--top;
        double& a = top[-1];
        a = s.code == Code::Add              ? a + b
            : s.code == Code::Subtract       ? a - b
            : s.code == Code::Multiply       ? a * b
            : s.code == Code::Divide         ? a / b
            : s.code == Code::Less           ? double(a < b)
            : s.code == Code::LessOrEqual    ? double(a <= b)
            : s.code == Code::Greater        ? double(a > b)
            : s.code == Code::GreaterOrEqual ? double(a >= b)
                                             : double(a == b);
      }
    }
  return top[-1];
}

std::vector<std::string> formula_names(std::size_t inputs) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < inputs; ++i) names.push_back("x" + std::to_string(i));
  names.push_back("y");
  names.push_back("dy");
  return names;
}

Formula value_formula(std::string_view text, std::size_t inputs) {
  std::vector<std::string> names = formula_names(inputs);
  names.resize(inputs);
  return {text, names};
}

Formula gradient_formula(std::string_view text, std::size_t inputs) {
  return {text, formula_names(inputs)};
}

}  // namespace trainyard

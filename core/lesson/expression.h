// An Expression is arithmetic over names, as lessons write it: "at('microbatches=32', bubble) <
// 0.1". An expression does not know the value of a name; it asks LessonQuantities.
//
//   a or b, a and b, a < b (also <= > >= ==), a + b, a * b, -a, (a), 12.5, 'a quantity: 48MiB',
//   name, function(a, b), quantity(index), at('key=value key=value', a)
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"

namespace trainyard {

/// The settings of a lesson, such as "microbatches" set to "32".
using LessonSettings = std::map<std::string, std::string, std::less<>>;
/// Reads "key=value key=value". Throws Error{InvalidInput} for a word without "=".
LessonSettings parse_lesson_settings(std::string_view words, const Place&);
/// Returns the first settings, overridden and extended by the second.
LessonSettings with_settings(LessonSettings first, const LessonSettings& second);
/// Returns "key=value key=value", sorted by key.
std::string to_text(const LessonSettings&);

struct ExpressionNode {
  enum class Kind { Number, Name, Call, At, Operator };
  Kind kind = Kind::Number;
  double number = 0;
  std::string name;     // name of a quantity, function or operator
  LessonSettings with;  // the settings of an At node
  std::vector<ExpressionNode> parts = {};
};

class Expression {
 public:
  Expression() = default;  // 0
  /// Throws Error{InvalidInput} at the place, saying at which character the error is, what was
  /// expected and what was found.
  Expression(std::string_view text, const Place&);
  const std::string& text() const { return text_; }
  const ExpressionNode& root() const { return root_; }
  /// Return the names of quantities that the expression reads, and of those that it reads by an
  /// index.
  std::vector<std::string> names() const;
  std::vector<std::string> indexed() const;
  /// Returns whether the expression reads no quantities.
  bool constant() const { return names().empty() && indexed().empty(); }

 private:
  std::string text_ = "0";
  ExpressionNode root_;
};

/// LessonQuantities gives the values of names under some settings.
class LessonQuantities {
 public:
  virtual ~LessonQuantities() = default;
  /// Both throw Error{InvalidInput} where these settings have no such quantity.
  virtual double quantity(std::string_view name, const LessonSettings&) const = 0;
  virtual double quantity(std::string_view name, double index, const LessonSettings&) const = 0;
};

/// Comparisons give 1 or 0. A division by zero gives what IEEE 754 defines. The function is pure if
/// the quantities are.
double evaluate(const Expression&, const LessonQuantities&, const LessonSettings&);

/// Reads a plain number, "48MiB", "450GB/s", "312TFLOP/s", "3.1h" or "25%", and returns it in
/// bytes, seconds, per second, or as a share. Throws Error{InvalidInput}.
double parse_lesson_number(std::string_view, const Place&);

/// A LessonFunction is a function that expressions may call: a formula of a paper with its
/// arguments.
struct LessonFunction {
  std::string_view name;
  int arguments = 1;
  std::string_view doc;  // formula and source
  double (*value)(const double* arguments) = nullptr;
};
/// Returns all functions: sqrt, min ... and ring_all_reduce, lost_time, delayed_loss.
const std::vector<LessonFunction>& lesson_functions();
/// Returns null where there is no function of that name.
const LessonFunction* find_lesson_function(std::string_view name);

}  // namespace trainyard

// An Expression is arithmetic over names, as lessons write it: "at('microbatches=32', bubble) <
// 0.1". It says nothing of what a name is worth; that is asked of LessonQuantities.
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

/// What is set in a lesson: "microbatches" to "32".
using LessonSettings = std::map<std::string, std::string, std::less<>>;
/// Reads "key=value key=value". Throws Error{InvalidInput} for a word without "=".
LessonSettings parse_lesson_settings(std::string_view words, const Place&);
/// The first, with what the second sets on top.
LessonSettings with_settings(LessonSettings first, const LessonSettings& second);
/// "key=value key=value", sorted by key.
std::string to_text(const LessonSettings&);

struct ExpressionNode {
  enum class Kind { Number, Name, Call, At, Operator };
  Kind kind = Kind::Number;
  double number = 0;
  std::string name;     // of a quantity, function or operator
  LessonSettings with;  // At
  std::vector<ExpressionNode> parts = {};
};

class Expression {
 public:
  Expression() = default;  // 0
  /// Throws Error{InvalidInput} at the place, saying at which character, what was expected and what
  /// was found.
  Expression(std::string_view text, const Place&);
  const std::string& text() const { return text_; }
  const ExpressionNode& root() const { return root_; }
  /// Names of quantities that it reads, and those that it reads by an index.
  std::vector<std::string> names() const;
  std::vector<std::string> indexed() const;
  /// Whether it reads nothing from anywhere.
  bool constant() const { return names().empty() && indexed().empty(); }

 private:
  std::string text_ = "0";
  ExpressionNode root_;
};

/// What names are worth under some settings.
class LessonQuantities {
 public:
  virtual ~LessonQuantities() = default;
  /// Both throw Error{InvalidInput} where there is no such quantity under these settings.
  virtual double quantity(std::string_view name, const LessonSettings&) const = 0;
  virtual double quantity(std::string_view name, double index, const LessonSettings&) const = 0;
};

/// Comparisons give 1 or 0. Divisions by zero give what IEEE 754 says. Pure but for what the
/// quantities do.
double evaluate(const Expression&, const LessonQuantities&, const LessonSettings&);

/// A plain number, "48MiB", "450GB/s", "312TFLOP/s", "3.1h" or "25%" in bytes, seconds, per second,
/// shares. Throws Error{InvalidInput}.
double parse_lesson_number(std::string_view, const Place&);

/// A function that expressions may call: a formula of a paper, with its arguments.
struct LessonFunction {
  std::string_view name;
  int arguments = 1;
  std::string_view doc;  // formula and source
  double (*value)(const double* arguments) = nullptr;
};
/// The list: sqrt, min ... and ring_all_reduce, lost_time, delayed_loss.
const std::vector<LessonFunction>& lesson_functions();
/// Null where there is none of that name.
const LessonFunction* find_lesson_function(std::string_view name);

}  // namespace trainyard

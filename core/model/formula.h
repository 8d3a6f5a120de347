// A Formula is arithmetic over a few named numbers, compiled once and evaluated for every element
// of a tensor: "dy * (1 - y * y)".
//
//   a < b (also <= > >= ==: 1 or 0), a + b, a - b, a * b, a / b, -a, (a), 12.5e-3, a name,
//   abs ceil cos erf exp floor log round sign sin sqrt tanh of one number, max min pow of two,
//   clamp(a, low, high)
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard {

class Formula {
 public:
  Formula() = default;  // 0
  /// Reads the text. `names` are the numbers that it may read, in the order in which they are
  /// given to each evaluation. Throws Error{InvalidInput} that says at which character the error
  /// is, what was expected and what was found.
  Formula(std::string_view text, std::span<const std::string> names);

  const std::string& text() const { return text_; }
  /// Returns whether the formula reads the name with that index.
  bool reads(std::size_t name) const;
  /// Number of operations of one evaluation, each counted as one FLOP.
  int operations() const;
  /// Returns the value for numbers in the order of the names. IEEE 754 decides what a division by
  /// zero and a root of a negative number are. Pure, and safe to call from several threads.
  double operator()(std::span<const double> numbers) const;

 private:
  friend class FormulaReader;
  enum class Code : std::uint8_t {
    Number,
    Name,
    Negative,
    Add,
    Subtract,
    Multiply,
    Divide,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Equal,
    Function,
  };
  struct Step {
    Code code = Code::Number;
    std::uint8_t at = 0;  // of a name, or of a function in its list
    double number = 0;
  };
  std::string text_ = "0";
  std::vector<Step> steps_ = {Step{}};  // in postfix order
};

/// ElementFormulas is what a node of the op "formula" computes for each element, and the gradients
/// that its author gives it. Numbers are named x0, x1 ... (x is x0) for the inputs, y for the
/// output and dy for the gradient of the output.
struct ElementFormulas {
  Formula value;                   // of inputs
  std::vector<Formula> gradients;  // by input: of inputs, y and dy
  /// Says that the gradients differ from the derivative of the value on purpose, as those of a
  /// straight-through estimator or a gradient reversal do.
  bool intended = false;
};

inline constexpr std::size_t kMostFormulaInputs = 4;

/// Returns the names that the gradients of so many inputs may read: x0 ..., y, dy; the value may
/// read the first `inputs` of them.
std::vector<std::string> formula_names(std::size_t inputs);
/// Each throws Error{InvalidInput} as Formula does.
Formula value_formula(std::string_view text, std::size_t inputs);
Formula gradient_formula(std::string_view text, std::size_t inputs);

}  // namespace trainyard

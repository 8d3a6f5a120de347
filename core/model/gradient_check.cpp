#include "core/model/gradient_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "core/base/random.h"
#include "core/model/formula.h"
#include "core/model/ops.h"

namespace trainyard {
namespace {

constexpr std::uint64_t kPoints = 1000;
constexpr double kRange = 3;    // numbers lie in [-kRange, kRange]
constexpr double kStep = 1e-5;  // balances rounding against the third derivative
constexpr double kKink = 1e-2;  // slopes left and right of a kink differ by more

// Returns the error of a gradient beside the difference, as a share of the larger of 1 and it.
double share_of_error(double given, double difference) {
  return std::abs(given - difference) / std::max(1.0, std::abs(difference));
}

GradientVerdict verdict_of(const ElementFormulas& formulas, std::size_t input) {
  const std::size_t inputs = formulas.gradients.size();
  std::array<double, kMostFormulaInputs + 2> numbers{};
  const auto value = [&](double moved) {
    std::array<double, kMostFormulaInputs + 2> at = numbers;
    at[input] += moved;
    return formulas.value({at.data(), inputs});
  };
  GradientVerdict found;
  found.intended = formulas.intended;
  for (std::uint64_t point = 0; point < kPoints; ++point) {
    for (std::size_t i = 0; i < inputs; ++i)
      numbers[i] = kRange * (2 * Random(1, i).uniform(point) - 1);
    const double y = value(0), dy = kRange * (2 * Random(2, input).uniform(point) - 1);
    const double right = (value(kStep) - y) / kStep, left = (y - value(-kStep)) / kStep;
    numbers[inputs] = y, numbers[inputs + 1] = dy;
    if (!std::isfinite(right) || !std::isfinite(left) || share_of_error(left, right) > kKink) {
      ++found.left_out;
      continue;
    }
    const double difference = dy * (left + right) / 2,
                 given = formulas.gradients[input]({numbers.data(), inputs + 2});
    const double error =
        std::isfinite(given) ? share_of_error(given, difference) : std::abs(kRange / kStep);
    if (found.points++ == 0 || error > found.largest)
      found.largest = error, found.given = given, found.difference = difference;
  }
  found.agrees = found.points > 0 && found.largest <= kGradientTolerance;
  return found;
}

}  // namespace

std::vector<GradientVerdict> check_gradients(const Graph& graph, const Node& node,
                                             const std::string& block) {
  std::vector<GradientVerdict> list;
  for (std::size_t i = 0; node.formulas != nullptr && i < node.inputs.size(); ++i) {
    list.push_back(verdict_of(*node.formulas, i));
    list.back().block = block, list.back().node = node.name;
    list.back().input = graph[node.inputs[i]].name;
  }
  return list;
}

std::vector<GradientVerdict> check_gradients(const Model& model) {
  std::vector<GradientVerdict> list;
  for (const Block& block : model.blocks)
    for (const Node& node : block.graph.nodes)
      for (GradientVerdict& v : check_gradients(block.graph, node, block.name))
        list.push_back(std::move(v));
  return list;
}

std::string to_text(const GradientVerdict& v) {
  const std::string out = v.left_out == 0
                              ? ""
                              : fmt::format(
                                    "; {} more points lie where the value is not a number "
                                    "or has a kink",
                                    v.left_out);
  if (v.points == 0)
    return fmt::format(
        "cannot be compared: at all {} points the value is not a number or has a "
        "kink",
        v.left_out);
  if (v.agrees)
    return fmt::format("agrees with the derivative at {} points, to {:.1e} of it at most{}",
                       v.points, v.largest, out);
  return fmt::format(
      "{} the derivative: it gives {:.6g} where the difference is {:.6g}, the worst "
      "of {} points{}",
      v.intended ? "differs, as intended, from" : "is not", v.given, v.difference + 0.0, v.points,
      out);
}

}  // namespace trainyard

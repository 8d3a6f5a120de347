// AllZero: tensors in which nothing, or hardly anything, is left.
#include <fmt/format.h>

#include <algorithm>

#include "core/base/units_text.h"
#include "core/rules/catalogue.h"

namespace trainyard {
namespace {

double zero_share(const LookedTensor& t) {
  return static_cast<double>(t.facts.zeros) / static_cast<double>(t.facts.elements);
}

// A gradient may be 0 once by nature, as that of an adapter's first factor while the second is 0.
void find_zeros(const Params& params, const RunShown& shown, FiredRules& fired) {
  const double limit = params.number("threshold");
  const auto looks = static_cast<std::size_t>(params.integer("looks"));
  if (shown.looks.size() < looks) return;
  for (const LookedTensor& t : shown.now().tensors) {
    const bool parameter = t.role == TensorRole::Gradient || t.role == TensorRole::Weight;
    if ((!parameter && t.role != TensorRole::Output) || t.facts.elements == 0) continue;
    const bool always = std::all_of(shown.looks.end() - static_cast<std::ptrdiff_t>(looks),
                                    shown.looks.end(), [&](const Look& look) {
                                      const LookedTensor* const same = same_tensor(look, t);
                                      return same != nullptr && 100 * zero_share(*same) >= limit;
                                    });
    if (always)
      fired.push_back(
          fired_in(shown, t, 100 * zero_share(t), limit,
                   fmt::format("{} of the {} is 0, and was at least {:g} % at the last {} looks,",
                               readable_share(zero_share(t)), described(t), limit, looks)));
  }
}

}  // namespace

const Rule& all_zero() {
  static const Rule made = {
      .name = "all-zero",
      .summary = "all elements of a gradient, of weights or of an output are 0",
      .advice =
          "initial weights that are not 0, inputs that are not 0, and a layer that the loss "
          "depends on",
      .reads = RuleReads::Gradients | RuleReads::Weights | RuleReads::Outputs,
      .params = {{"threshold", 100.0, "share of zeros from which it fires, in %", 0, 100},
                 {"looks", std::int64_t{2}, "so many looks in a row", 1, 10}},
      .of_run = find_zeros};
  return made;
}

}  // namespace trainyard

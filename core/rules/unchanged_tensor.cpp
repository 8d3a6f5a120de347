// UnchangedTensor: weights that updates leave as they are.
#include <fmt/format.h>

#include <algorithm>

#include "core/rules/catalogue.h"

namespace trainyard {
namespace {

void find_unchanged(const Params& params, const RunShown& shown, FiredRules& fired) {
  const double limit = params.number("tolerance");
  const auto looks = static_cast<std::size_t>(params.integer("looks"));
  if (shown.looks.size() < looks) return;
  for (const LookedTensor& t : shown.now().tensors) {
    if (t.role != TensorRole::Update || !t.matrix) continue;
    const bool always =
        std::all_of(shown.looks.end() - static_cast<std::ptrdiff_t>(looks), shown.looks.end(),
                    [&](const Look& look) {
                      const LookedTensor* const same = same_tensor(look, t);
                      return look.rate > 0 && same != nullptr && same->facts.most_moved <= limit;
                    });
    if (always)
      fired.push_back(fired_in(shown, t, t.facts.most_moved, limit,
                               fmt::format("no element of \"{}\" moved by more than {:.3g} of its "
                                           "size, with a limit of {:.3g}, at the last {} looks",
                                           t.name, t.facts.most_moved, limit, looks)));
  }
}

}  // namespace

const Rule& unchanged_tensor() {
  static const Rule made = {
      .name = "unchanged-tensor",
      .summary = "no element of a matrix of weights changes at several looks in a row",
      .advice =
          "a higher rate, a layer that the loss depends on, or weights that can hold small "
          "updates",
      .reads = RuleReads::Updates,
      .params = {{"tolerance", 1e-5,
                  "most that an element moves in one update, as a share of its size and a floor of "
                  "0.001",
                  0, 1e30},
                 {"looks", std::int64_t{2}, "so many looks in a row", 1, 10}},
      .of_run = find_unchanged};
  return made;
}

}  // namespace trainyard

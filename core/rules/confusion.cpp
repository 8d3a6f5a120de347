// Confusion: classes that are taken for one another.
#include <fmt/format.h>

#include "core/base/units_text.h"
#include "core/rules/answers.h"
#include "core/rules/catalogue.h"

namespace trainyard {
namespace {

void find_confusion(const Params& params, const RunShown& shown, FiredRules& fired) {
  const Answers all = answers_of(shown);
  const double diagonal = params.number("diagonal"), beside = params.number("beside");
  for (std::int64_t c = 0; c < all.classes; ++c) {
    const std::int64_t own = samples_of(all, c);
    if (own < params.integer("samples")) continue;
    const auto share = [&](std::int64_t as) {
      return static_cast<double>(count_at(all, c, as)) / static_cast<double>(own);
    };
    if (share(c) < diagonal)
      fired.push_back(
          fired_for(shown, fmt::format("class {}", c), share(c), diagonal,
                    fmt::format("{} of the samples of class {} are found, less than {}",
                                readable_share(share(c)), c, readable_share(diagonal))));
    for (std::int64_t as = 0; as < all.classes; ++as)
      if (as != c && share(as) > beside)
        fired.push_back(
            fired_for(shown, fmt::format("class {} as {}", c, as), share(as), beside,
                      fmt::format("{} of the samples of class {} are taken for class {}, more than "
                                  "{}",
                                  readable_share(share(as)), c, as, readable_share(beside))));
  }
}

}  // namespace

const Rule& confusion() {
  static const Rule made = {
      .name = "confusion",
      .summary = "samples of a class are taken for others",
      .advice = "longer training, more samples of these classes, and their labels",
      .reads = RuleReads::Answers,
      .by_name = true,
      .params = {{"diagonal", 0.9, "least share of a class that is found", 0, 1},
                 {"beside", 0.1, "most of a class that is taken for one other", 0, 1},
                 {"samples", std::int64_t{10}, "fewest samples of a class that are judged", 1,
                  1000000}},
      .of_run = find_confusion};
  return made;
}

}  // namespace trainyard

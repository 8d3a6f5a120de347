// ClassImbalance: classes with few samples beside others, or that the model hardly ever finds.
#include <fmt/format.h>

#include <algorithm>

#include "core/base/units_text.h"
#include "core/rules/answers.h"
#include "core/rules/catalogue.h"

namespace trainyard {
namespace {

// A class must have come to its share of so many samples before chance is ruled out.
constexpr std::int64_t kFewestOfAClass = 10;

void find_imbalance(const Params& params, const RunShown& shown, FiredRules& fired) {
  const Answers all = answers_of(shown);
  if (all.classes < 2 || all.total() < kFewestOfAClass * all.classes) return;
  std::int64_t least = all.total(), most = 0, least_class = 0;
  for (std::int64_t c = 0; c < all.classes; ++c) {
    const std::int64_t count = samples_of(all, c);
    most = std::max(most, count);
    if (count < least) least = count, least_class = c;
  }
  const double ratio = static_cast<double>(most) /
                       static_cast<double>(std::max<std::int64_t>(1, least)),
               limit = params.number("ratio");
  if (ratio > limit)
    fired.push_back(fired_for(
        shown, "labels", ratio, limit,
        fmt::format(
            "class {} has {} of {} samples and the largest class {:.3g} times as many, more "
            "than {:g} times",
            least_class, least, all.total(), ratio, limit)));
  const double missed_limit = params.number("misprediction");
  const double missed_by_all =
      1 - static_cast<double>(found_right(all)) / static_cast<double>(all.total());
  if (missed_by_all > missed_limit / 2) return;  // it has not learnt any class yet
  for (std::int64_t c = 0; c < all.classes; ++c) {
    const std::int64_t own = samples_of(all, c);
    if (own < kFewestOfAClass) continue;
    const double missed = 1 - static_cast<double>(count_at(all, c, c)) / static_cast<double>(own);
    if (missed > missed_limit)
      fired.push_back(fired_for(
          shown, fmt::format("class {}", c), missed, missed_limit,
          fmt::format("{} of the samples of class {} are taken for others, more than {}, and {} of "
                      "all samples",
                      readable_share(missed), c, readable_share(missed_limit),
                      readable_share(missed_by_all))));
  }
}

}  // namespace

const Rule& class_imbalance() {
  static const Rule made = {
      .name = "class-imbalance",
      .summary = "a class has few samples beside the largest, or is missed while others are found",
      .advice = "samples drawn by class, or losses weighted by class",
      .reads = RuleReads::Answers,
      .params = {{"ratio", 10.0, "most samples of one class for one of another", 1, 1e30},
                 {"misprediction", 0.7,
                  "most samples of a class that may be missed, as a share, once the model misses "
                  "fewer than half as many of all",
                  0, 1}},
      .of_run = find_imbalance};
  return made;
}

}  // namespace trainyard

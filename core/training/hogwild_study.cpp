#include "core/training/hogwild_study.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/units_text.h"

namespace trainyard {
namespace {

std::string gain_sentence(const HogwildStudy& s, bool dense) {
  const HogwildRow &free = row_of(s, dense, Sharing::Hogwild),
                   &locked = row_of(s, dense, Sharing::Locked);
  const SharedSupport& support = dense ? s.dense : s.sparse;
  return fmt::format(
      "With {} features in a sample, {} threads without locks make {:.2f} times as many updates a "
      "second as one thread alone, at {:.3f} times its loss; under a lock {:.2f} times. Two "
      "samples "
      "have a feature in common in {} of pairs.",
      dense ? fmt::format("all {}", s.question.dense)
            : fmt::format("{} of {}", s.question.nonzeros, s.question.features),
      s.question.threads, free.gain, free.loss_ratio, locked.gain, readable_share(support.meet));
}

}  // namespace

std::string_view to_string(Sharing how) {
  switch (how) {
    case Sharing::Alone:
      return "alone";
    case Sharing::Locked:
      return "locked";
    case Sharing::Hogwild:
      return "hogwild";
  }
  return "";
}

const HogwildRow& row_of(const HogwildStudy& s, bool dense, Sharing how) {
  return *std::find_if(s.rows.begin(), s.rows.end(), [&](const HogwildRow& row) {
    return row.dense == dense && row.how == how &&
           row.threads == (how == Sharing::Alone ? 1 : s.question.threads);
  });
}

std::vector<std::string> hogwild_sentences(const HogwildStudy& s) {
  std::vector<std::string> made = {gain_sentence(s, false), gain_sentence(s, true)};
  made.push_back(fmt::format(
      "While a thread makes an update, {:.3g} of other threads end on average; {} threads that "
      "never pause would see {}.",
      s.mean_staleness, s.question.threads, s.question.threads - 1));
  if (s.question.threads > s.cores)
    made.push_back(fmt::format(
        "This machine has {} cores: {} threads take turns on them, and {} times is the most that "
        "they can gain.",
        s.cores, s.question.threads, s.cores));
  return made;
}

}  // namespace trainyard

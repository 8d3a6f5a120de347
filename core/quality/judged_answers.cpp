#include "core/quality/judged_answers.h"

#include <algorithm>
#include <cmath>

namespace trainyard {

double JudgedAnswers::excess_error_band() const {
  constexpr double kTwoSided = 1.959963984540054;  // 97.5 % quantile of the normal law
  if (questions == 0) return 0;
  const double variance = instability() - excess_error() * excess_error();
  const std::int64_t asked = questions / times;
  return kTwoSided * std::sqrt(std::max(0.0, variance) / static_cast<double>(asked));
}

void add_answers(JudgedAnswers& all, const JudgedAnswers& another) {
  all.questions += another.questions;
  all.right += another.right;
  all.lost += another.lost;
  all.won += another.won;
  all.flipped += another.flipped;
  all.times += another.times;
}

JudgedAnswers judge_answers(std::span<const std::int32_t> first,
                            std::span<const std::int32_t> second,
                            std::span<const std::int32_t> labels) {
  JudgedAnswers judged;
  judged.questions = static_cast<std::int64_t>(labels.size());
  for (std::size_t q = 0; q < labels.size(); ++q) {
    const bool by_first = first[q] == labels[q], by_second = second[q] == labels[q];
    judged.right += by_first ? 1 : 0;
    judged.lost += by_first && !by_second ? 1 : 0;
    judged.won += !by_first && by_second ? 1 : 0;
    judged.flipped += first[q] != second[q] ? 1 : 0;
  }
  return judged;
}

double instability_across(std::span<const std::vector<std::int32_t>> answers,
                          std::span<const std::int32_t> labels) {
  std::int64_t unstable = 0;
  for (std::size_t q = 0; q < labels.size(); ++q) {
    std::size_t right = 0;
    for (const std::vector<std::int32_t>& environment : answers)
      right += environment[q] == labels[q] ? 1 : 0;
    unstable += right > 0 && right < answers.size() ? 1 : 0;
  }
  return labels.empty() ? 0 : static_cast<double>(unstable) / static_cast<double>(labels.size());
}

}  // namespace trainyard

// Two models answer the same questions: how often one is right where the other is wrong says more
// than the difference of their accuracies. Users of a model that was made smaller meet the answers
// that changed, and as many may have changed for the better as for the worse.
//
// Instability is the share of questions that one answers rightly and the other wrongly (Cidon et
// al., "Characterizing and Taming Model Instability Across Edge Devices", MLSys 2021). Excess error
// is the error of the second model beyond that of the first (Liebenwein et al., "Lost in Pruning:
// The Effects of Pruning Neural Networks beyond Test Accuracy", MLSys 2021).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace trainyard {

/// Counts of questions, which are samples, or tokens of them.
struct JudgedAnswers {
  std::int64_t questions = 0;
  std::int64_t right = 0;    // of the first model
  std::int64_t lost = 0;     // right, and wrong by the second model
  std::int64_t won = 0;      // wrong, and right by the second model
  std::int64_t flipped = 0;  // the second model answers another class, right or wrong
  std::int64_t times = 1;    // that each question was asked, of models that are counted together

  // Shares of the questions, in [0, 1]; 0 where there are none.
  double first_accuracy() const { return share(right); }
  double second_accuracy() const { return share(right - lost + won); }
  double instability() const { return share(lost + won); }
  double flips() const { return share(flipped); }

  /// Returns the error of the second model beyond that of the first, in [-1, 1].
  double excess_error() const { return share(lost - won); }
  /// Returns half the width of its 95 % interval, by the normal law of paired differences. Asking a
  /// question again makes it no narrower.
  double excess_error_band() const;

  friend bool operator==(const JudgedAnswers&, const JudgedAnswers&) = default;

 private:
  double share(std::int64_t count) const {
    return questions > 0 ? static_cast<double>(count) / static_cast<double>(questions) : 0;
  }
};

/// All lists have one length.
JudgedAnswers judge_answers(std::span<const std::int32_t> first,
                            std::span<const std::int32_t> second,
                            std::span<const std::int32_t> labels);
/// Counts another model together with those before, which were asked the same questions.
void add_answers(JudgedAnswers&, const JudgedAnswers& of_another);

/// Returns the share of questions that one model answers rightly in some environments and wrongly
/// in others: inputs as other devices see them, other number formats. All lists have one length,
/// each of them an environment's. 0 where there is nothing to compare.
double instability_across(std::span<const std::vector<std::int32_t>> answers,
                          std::span<const std::int32_t> labels);

}  // namespace trainyard

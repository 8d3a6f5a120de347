// A probability of outperforming says how often a run of B beats a run of A. A difference of means
// says too little: between two systems that are the same it names a winner every time, and between
// two that differ it does not say whether the next run will show it. This is the test of
// Bouthillier et al., "Accounting for Variance in Machine Learning Benchmarks", MLSys 2021, with
// one addition: the interval of a bootstrap is too narrow for few runs, so that a rank test must
// agree with it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard {

/// Figures that runs of A and of B reached. With `paired`, run i of both shares every seed, which
/// takes the chance that they share out of the comparison; both lists are then equally long.
struct OutperformingScores {
  std::vector<double> a, b;
  bool less_is_better = false;
  bool paired = false;
};

enum class RunsVerdict : std::uint8_t {
  TooFew,          // so few runs that nothing could ever be significant
  NotSignificant,  // chance alone may explain it
  NotMeaningful,   // B or A is better, but by so little that a run seldom shows it
  Better,
};
std::string_view to_string(RunsVerdict);  // "too-few", "not-significant"

/// Shares of pairs of runs, in [0, 1].
struct Outperforming {
  RunsVerdict outcome = RunsVerdict::TooFew;
  double probability = 0.5;  // that B's run is better; ties count half
  double low = 0, high = 1;  // its interval of 95 %, by bootstrap over runs
  double p_value = 1;        // two-sided, of the rank test
  bool paired = false;
  std::int64_t runs = 0;    // of each; the fewer
  std::int64_t needed = 0;  // further runs of each; 0 where the verdict stands
  bool b_leads() const { return probability >= 0.5; }
};

/// The probability from which on a difference is worth acting on, by convention of the paper.
inline constexpr double kMeaningful = 0.75;
/// The share of nulls that are called significant, and of true differences that are missed.
inline constexpr double kFalsePositives = 0.05, kFalseNegatives = 0.05;

/// Returns how many runs of each find a probability of outperforming with these errors, one-sided:
/// Noether, "Sample Size Determination for Some Common Nonparametric Tests", JASA 1987. Not
/// rounded; 0.5 < probability <= 1.
double noether_runs(double probability, double false_positives = kFalsePositives,
                    double false_negatives = kFalseNegatives);

/// Figures must be finite. Deterministic. Throws std::invalid_argument where pairs are not equally
/// many.
Outperforming outperforming(const OutperformingScores&);

/// A figure by which two lists of runs are judged.
struct JudgedFigure {
  std::string key;             // "accuracy"
  std::string title;           // "Accuracy"
  std::string unit;            // "s", "share"; empty for a plain number
  OutperformingScores scores;  // of pairs: both in one order
  Outperforming verdict;
};
/// Returns a value of the figure as text: "93.12 %", "0.2841", "41.2 ms".
std::string judged_text(const JudgedFigure&, double value);
/// Returns its verdict in a sentence that names it.
std::string judged_sentence(const JudgedFigure&);

/// Returns the outcome in a few words: "B is better", "not significant, 12 more runs of each".
std::string outcome_words(const Outperforming&);
/// Returns the verdict as a sentence: "B is better: its run wins in 90 % of pairs (95 % interval
/// 79 % to 98 %, 29 pairs)."
std::string outperforming_sentence(const Outperforming&, std::string_view a = "A",
                                   std::string_view b = "B");

}  // namespace trainyard

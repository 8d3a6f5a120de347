// A sweep is one table over models, clusters, prices and settings. Each combination of their values
// is a row: the best plan that a search finds for it, or the plan as it is given, with its figures;
// or the reason why there is none.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result/result.h"

namespace trainyard {

/// The most combinations of one sweep.
inline constexpr std::size_t kMostCombinations = 10'000;

struct SweepAxis {
  std::string name;                 // "model", "cluster", "price", or the key of a setting
  std::vector<std::string> values;  // at least one, each once
};

/// Returns the number of combinations, or kMostCombinations + 1 where there are more than that.
std::size_t combinations(const std::vector<SweepAxis>&);

struct SweepRow {
  std::vector<std::string> set;  // arguments of --set that make this plan
  std::string plan;              // those by which it differs from other plans, in one line
  std::optional<Result> result;  // empty where no plan is legal
  std::optional<FitWord> fit;    // empty where no plan is legal
  std::string reason;            // the verdict as a sentence, or why no plan is legal
  /// Returns whether the predicted peak fits, as Verdict::fits; the plan may not fit all the same.
  bool fits() const { return fit && *fit != FitWord::DoesNotFit && result->verdict.fits; }
};
/// Returns "fits", "may not fit", "does not fit" or "no plan".
std::string_view verdict_word(const SweepRow&);
/// Returns the words that tell the plan from others, "the only plan" where nothing else was tried;
/// "" without a plan.
std::string plan_words(const SweepRow&);
/// Returns what limits the plan and, where it does not fit, by how much; without a plan the reason.
/// In one line.
std::string remark(const SweepRow&);

struct SweepStudy {
  bool searched = true;              // else the plan is the one given
  std::string objective = "time";    // of the search
  std::vector<SweepAxis> axes;       // the last one varies fastest
  std::vector<SweepRow> rows;        // by combination; fewer than these where it was stopped
  std::vector<std::string> assumed;  // what a model's file left open, as "MODEL: sentence"
  bool stopped() const { return rows.size() < combinations(axes); }
  /// Returns the index of the value that a combination has on an axis.
  std::size_t digit(std::size_t combination, std::size_t axis) const;
  const std::string& value(std::size_t combination, std::size_t axis) const {
    return axes[axis].values[digit(combination, axis)];
  }
};
/// Returns the value on one axis with the axis before it where the value does not tell: "gpt2",
/// "seq 8192".
std::string axis_words(const SweepStudy&, std::size_t combination, std::size_t axis);
/// Returns the values of the axes that have several, such as "llama-3-8b, seq 8192"; "" where no
/// axis has.
std::string combination_words(const SweepStudy&, std::size_t combination);

/// A figure by which rows are compared and drawn.
enum class SweepFigure : std::uint8_t { Step, Throughput, Cost, Mfu, Peak };
inline constexpr SweepFigure kSweepFigures[] = {SweepFigure::Step, SweepFigure::Throughput,
                                                SweepFigure::Cost, SweepFigure::Mfu,
                                                SweepFigure::Peak};
std::string_view to_string(SweepFigure);  // "step"
/// Throughput and MFU are better where they are higher, the others where they are lower.
bool higher_is_better(SweepFigure);
/// Returns seconds of the step, tokens (or samples) per second, money_for_work(), the share of the
/// peak, or bytes at the peak of the fullest device; empty without a result, and for a cost without
/// a price.
std::optional<Banded<double>> figure_of(const SweepRow&, SweepFigure);
/// Returns the index of the best row of those that fit; the first of equals. Empty where none has
/// the figure.
std::optional<std::size_t> best_row(const SweepStudy&, SweepFigure);

}  // namespace trainyard

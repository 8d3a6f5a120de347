#include "core/result/outperforming.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <map>
#include <stdexcept>

#include "core/base/random.h"
#include "core/base/units_text.h"
#include "core/result/rank_tests.h"

namespace trainyard {
namespace {

constexpr double kTail = kFalsePositives / 2;
// The rank test asks for a little more than the share of false positives that is promised, so that
// a count of them over a thousand nulls stays below it too.
constexpr double kSignificant = 0.8 * kFalsePositives;
constexpr std::size_t kResamples = 4000;

struct Interval {
  double low = 0, high = 1;
};

/// Resampled pairs win, tie or lose with the shares that were found, so that the bootstrap of their
/// mean is a multinomial distribution and needs no random numbers.
Interval paired_interval(const std::array<std::int64_t, 3>& losses_ties_wins) {
  std::int64_t count = 0;
  for (const std::int64_t n : losses_ties_wins) count += n;
  std::vector<double> chance = {1};  // of each sum of half wins
  for (std::int64_t i = 0; i < count; ++i) {
    std::vector<double> next(chance.size() + 2);
    for (std::size_t s = 0; s < chance.size(); ++s)
      for (std::size_t won = 0; won < 3; ++won)
        next[s + won] +=
            chance[s] * static_cast<double>(losses_ties_wins[won]) / static_cast<double>(count);
    chance = std::move(next);
  }
  const auto share = [&](std::size_t s) {
    return static_cast<double>(s) / static_cast<double>(2 * count);
  };
  std::size_t low = 0, high = chance.size() - 1;
  for (double below = chance[low]; below < kTail; below += chance[low]) ++low;
  for (double above = chance[high]; above < kTail; above += chance[high]) --high;
  return {share(low), share(high)};
}

/// Figures without pairs, by rising value: how many runs of each have it.
struct ScoreLevel {
  std::int64_t a = 0, b = 0;
};

double share_won(const std::vector<ScoreLevel>& levels, std::int64_t a_runs, std::int64_t b_runs) {
  std::int64_t below = 0, half_wins = 0;
  for (const ScoreLevel& level : levels) {
    half_wins += level.b * (2 * below + level.a);
    below += level.a;
  }
  return static_cast<double>(half_wins) / 2 / static_cast<double>(a_runs) /
         static_cast<double>(b_runs);
}

Interval unpaired_interval(const std::vector<std::size_t>& a, const std::vector<std::size_t>& b,
                           std::size_t levels) {
  std::vector<double> shares;
  shares.reserve(kResamples);
  std::vector<ScoreLevel> drawn;
  for (std::size_t r = 0; r < kResamples; ++r) {
    drawn.assign(levels, {});
    const Random random(1, r);
    std::uint64_t draw = 0;
    const auto resample = [&](const std::vector<std::size_t>& runs,
                              std::int64_t ScoreLevel::* side) {
      for (std::size_t i = 0; i < runs.size(); ++i)
        ++(drawn[runs[random.bits(draw++) % runs.size()]].*side);
    };
    resample(a, &ScoreLevel::a), resample(b, &ScoreLevel::b);
    shares.push_back(
        share_won(drawn, static_cast<std::int64_t>(a.size()), static_cast<std::int64_t>(b.size())));
  }
  const auto beyond = static_cast<std::size_t>(kTail * kResamples);
  const auto by_rank = [&](std::size_t rank) {
    const auto at = shares.begin() + static_cast<std::ptrdiff_t>(rank);
    std::nth_element(shares.begin(), at, shares.end());
    return *at;
  };
  return {by_rank(beyond), by_rank(kResamples - 1 - beyond)};
}

void judge_pairs(const OutperformingScores& scores, double sign, Outperforming& found) {
  std::array<std::int64_t, 3> losses_ties_wins{};
  std::vector<double> differences;
  for (std::size_t i = 0; i < scores.a.size(); ++i) {
    differences.push_back(sign * (scores.b[i] - scores.a[i]));
    const double d = differences.back();
    ++losses_ties_wins[d > 0 ? 2 : d == 0 ? 1 : 0];
  }
  const auto pairs = static_cast<double>(differences.size());
  found.probability =
      static_cast<double>(2 * losses_ties_wins[2] + losses_ties_wins[1]) / (2 * pairs);
  const Interval interval = paired_interval(losses_ties_wins);
  found.low = interval.low, found.high = interval.high;
  found.p_value = signed_rank_test(differences);
  if (least_signed_rank(found.runs) <= kSignificant) found.outcome = RunsVerdict::NotSignificant;
}

void judge_lists(const OutperformingScores& scores, double sign, Outperforming& found) {
  std::map<double, ScoreLevel> by_value;
  for (const double x : scores.a) ++by_value[sign * x].a;
  for (const double x : scores.b) ++by_value[sign * x].b;
  std::vector<ScoreLevel> levels;
  std::vector<std::size_t> a, b;  // the level of each run
  for (const auto& [value, level] : by_value) {
    a.insert(a.end(), static_cast<std::size_t>(level.a), levels.size());
    b.insert(b.end(), static_cast<std::size_t>(level.b), levels.size());
    levels.push_back(level);
  }
  const auto a_runs = static_cast<std::int64_t>(a.size()),
             b_runs = static_cast<std::int64_t>(b.size());
  found.probability = share_won(levels, a_runs, b_runs);
  const Interval interval = unpaired_interval(a, b, levels.size());
  found.low = interval.low, found.high = interval.high;
  found.p_value = rank_sum_test(scores.a, scores.b);
  if (least_rank_sum(a_runs, b_runs) <= kSignificant) found.outcome = RunsVerdict::NotSignificant;
}

std::string percent(double share) { return fmt::format("{:.0f} %", 100 * share); }

}  // namespace

std::string_view to_string(RunsVerdict outcome) {
  constexpr std::string_view kNames[] = {"too-few", "not-significant", "not-meaningful", "better"};
  return kNames[static_cast<std::size_t>(outcome)];
}

std::string judged_text(const JudgedFigure& figure, double value) {
  if (figure.unit == "share") return fmt::format("{:.2f} %", 100 * value);
  if (figure.unit == "s") return readable_step(Duration{std::llround(value * 1e9)});
  return fmt::format("{:.4g}", value);
}

std::string judged_sentence(const JudgedFigure& figure) {
  return figure.title + ": " + outperforming_sentence(figure.verdict);
}

double noether_runs(double probability, double false_positives, double false_negatives) {
  const double z = normal_quantile(1 - false_positives) - normal_quantile(false_negatives);
  const double root = z / (std::sqrt(6.0) * (0.5 - probability));
  return root * root;
}

Outperforming outperforming(const OutperformingScores& scores) {
  if (scores.paired && scores.a.size() != scores.b.size())
    throw std::invalid_argument("outperforming: pairs are not equally many");
  Outperforming found;
  found.paired = scores.paired;
  found.runs = static_cast<std::int64_t>(std::min(scores.a.size(), scores.b.size()));
  const auto enough = static_cast<std::int64_t>(std::ceil(noether_runs(kMeaningful)));
  const std::int64_t further = std::max<std::int64_t>(0, enough - found.runs);
  found.needed = further;
  if (found.runs == 0) return found;
  const double sign = scores.less_is_better ? -1 : 1;
  scores.paired ? judge_pairs(scores, sign, found) : judge_lists(scores, sign, found);
  const bool apart = found.b_leads() ? found.low > 0.5 : found.high < 0.5;
  if (found.outcome == RunsVerdict::TooFew || !apart || found.p_value > kSignificant) return found;
  const double best = found.b_leads() ? found.high : 1 - found.low;
  found.outcome = best > kMeaningful ? RunsVerdict::Better : RunsVerdict::NotMeaningful;
  found.needed = 0;
  return found;
}

std::string outcome_words(const Outperforming& v) {
  const std::string more =
      v.needed > 0 ? fmt::format(", {} more run{} of each", v.needed, v.needed == 1 ? "" : "s")
                   : "";
  const char* leader = v.b_leads() ? "B" : "A";
  switch (v.outcome) {
    case RunsVerdict::TooFew:
      return "too few runs" + more;
    case RunsVerdict::NotSignificant:
      return "not significant" + more;
    case RunsVerdict::NotMeaningful:
      return fmt::format("{} is better, but by little", leader);
    case RunsVerdict::Better:
      break;
  }
  return fmt::format("{} is better", leader);
}

std::string outperforming_sentence(const Outperforming& v, std::string_view a, std::string_view b) {
  const std::string_view leader = v.b_leads() ? b : a;
  const double wins = v.b_leads() ? v.probability : 1 - v.probability;
  const double low = v.b_leads() ? v.low : 1 - v.high, high = v.b_leads() ? v.high : 1 - v.low;
  const std::string of =
      fmt::format("{} {}{}", v.runs, v.paired ? "pair" : "run", v.runs == 1 ? "" : "s") +
      (v.paired ? "" : " on the smaller side");
  const std::string more =
      v.needed > 0
          ? fmt::format(" {} more run{} of each would find a difference that shows in {} of pairs.",
                        v.needed, v.needed == 1 ? "" : "s", percent(kMeaningful))
          : "";
  const std::string found =
      fmt::format("a run of {} wins in {} of pairs (95 % interval {} to {}, {})", leader,
                  percent(wins), percent(low), percent(high), of);
  switch (v.outcome) {
    case RunsVerdict::TooFew:
      return fmt::format(
          "Too few runs to tell {} from {}: {}, and with so few chance alone may do "
          "that.{}",
          a, b, of, more);
    case RunsVerdict::NotSignificant:
      return fmt::format("Not significant: {}, which chance alone may do.{}", found, more);
    case RunsVerdict::NotMeaningful:
      return fmt::format("{} is better, but not by enough to matter: {}, surely less than {}.",
                         leader, found, percent(kMeaningful));
    case RunsVerdict::Better:
      break;
  }
  return fmt::format("{} is better: {}.", leader, found);
}

}  // namespace trainyard

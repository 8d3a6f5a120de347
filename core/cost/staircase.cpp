#include "core/cost/staircase.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

namespace trainyard {
namespace {

// Each interval of neighbours has so much confidence that all of them hold together with that of
// the rule (Bonferroni).
double confidence_of_each(std::size_t widths, const StaircaseRule& rule) {
  return 1 - (1 - rule.confidence) / static_cast<double>(std::max<std::size_t>(2, widths) - 1);
}

// Returns how many samples may be left out at each end: the most k for which so many or fewer of n
// samples lie below the median with a chance of at most half of 1 - confidence. Nothing where even
// all n samples are too few.
std::optional<std::size_t> left_out(std::size_t n, double confidence) {
  const double most = (1 - confidence) / 2;
  double chance = std::pow(0.5, static_cast<double>(n)), sum = chance;
  if (n == 0 || sum > most) return std::nullopt;
  std::size_t k = 0;
  for (; k + 1 <= (n - 1) / 2; ++k) {
    chance *= static_cast<double>(n - k) / static_cast<double>(k + 1);
    if (sum + chance > most) break;
    sum += chance;
  }
  return k;
}

WidthRatio ratio_of(std::span<const ProbedWidth> widths, std::size_t from, std::size_t to,
                    double confidence) {
  std::vector<double> ratios;
  for (std::size_t r = 0; r < widths[from].seconds.size(); ++r)
    ratios.push_back(widths[to].seconds[r] / widths[from].seconds[r]);
  return {from, to, median_interval(std::move(ratios), confidence)};
}

void expect_rounds(std::span<const ProbedWidth> widths, const StaircaseRule& rule) {
  if (widths.empty()) throw std::invalid_argument("expected at least one width");
  const std::size_t rounds = widths.front().seconds.size();
  if (static_cast<int>(rounds) < least_rounds(widths.size(), rule))
    throw std::invalid_argument("expected more rounds for intervals of this confidence");
  for (std::size_t w = 0; w < widths.size(); ++w) {
    if (widths[w].seconds.size() != rounds)
      throw std::invalid_argument("expected equally many rounds of all widths");
    if (w > 0 && widths[w].width <= widths[w - 1].width)
      throw std::invalid_argument("expected ascending widths");
  }
}

bool goes_up(const StairStep& s, double least) {
  return s.jump.ratio.low > s.roofline && s.jump.ratio.value >= s.roofline * (1 + least);
}
bool goes_down(const StairStep& s, double least) {
  return s.jump.ratio.high < 1 && s.jump.ratio.value <= 1 - least;
}

// Finds for each width the widest one to which padding is free, and the wider one that is surest
// to be quicker.
void compare_with_wider(std::span<const ProbedWidth> widths, double confidence, double least,
                        Staircase& stairs) {
  std::size_t covered = 0;
  for (std::size_t from = 0; from < widths.size(); ++from) {
    std::optional<WidthRatio> furthest, quicker;
    for (std::size_t to = from + 1; to < widths.size(); ++to) {
      const WidthRatio padded = ratio_of(widths, from, to, confidence);
      if (padded.ratio.high <= 1 + least) furthest = padded;
      if (padded.ratio.high >= 1 || padded.ratio.value > 1 / (1 + least)) continue;
      if (!quicker || padded.ratio.high < quicker->ratio.high) quicker = padded;
    }
    if (furthest && furthest->to > covered) {
      covered = furthest->to;
      stairs.free.push_back(*furthest);
    }
    if (quicker)
      stairs.dear.push_back(
          {quicker->to,
           from,
           {1 / quicker->ratio.value, 1 / quicker->ratio.high, 1 / quicker->ratio.low, {}}});
  }
}

}  // namespace

int least_rounds(std::size_t widths, const StaircaseRule& rule) {
  const double each = confidence_of_each(widths, rule);
  int rounds = 1;
  while (!left_out(static_cast<std::size_t>(rounds), each)) ++rounds;
  return rounds;
}

Banded<double> median_interval(std::vector<double> samples, double confidence) {
  const std::optional<std::size_t> out = left_out(samples.size(), confidence);
  if (!out) throw std::invalid_argument("expected more samples for an interval of this confidence");
  std::sort(samples.begin(), samples.end());
  return {samples[(samples.size() - 1) / 2], samples[*out], samples[samples.size() - 1 - *out], {}};
}

Staircase staircase(std::span<const ProbedWidth> widths, const StaircaseRule& rule) {
  expect_rounds(widths, rule);
  const double each = confidence_of_each(widths.size(), rule);
  Staircase stairs;
  for (const ProbedWidth& w : widths) stairs.seconds.push_back(median_interval(w.seconds, each));
  for (std::size_t w = 1; w < widths.size(); ++w) {
    StairStep jump{ratio_of(widths, w - 1, w, each), widths[w].roofline / widths[w - 1].roofline,
                   true};
    jump.up = jump.jump.ratio.value >= 1;
    const bool up = goes_up(jump, rule.least);
    if (up || goes_down(jump, rule.least)) stairs.steps.push_back(stairs.jumps.size());
    if (up) stairs.dear.push_back(jump.jump);
    stairs.jumps.push_back(std::move(jump));
  }
  compare_with_wider(widths, each, rule.least, stairs);
  std::stable_sort(stairs.dear.begin(), stairs.dear.end(),
                   [](const WidthRatio& a, const WidthRatio& b) { return a.to < b.to; });
  return stairs;
}

std::int64_t common_tread(std::span<const ProbedWidth> widths, const Staircase& stairs) {
  std::int64_t common = 0;
  int up = 0;
  for (const std::size_t s : stairs.steps)
    if (stairs.jumps[s].up) {
      common = std::gcd(common, widths[stairs.jumps[s].jump.from].width);
      ++up;
    }
  return up < 2 ? 1 : common;
}

}  // namespace trainyard

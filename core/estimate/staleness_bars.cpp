#include "core/estimate/staleness_bars.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/base/units_text.h"

namespace trainyard {
namespace {

constexpr double kTail = 0.01;
constexpr double kBarWidth = 40;

}  // namespace

StalenessBars staleness_bars(std::span<const std::int64_t> counts, std::size_t most) {
  StalenessBars found;
  std::int64_t all = 0;
  double sum = 0;
  for (std::size_t s = 0; s < counts.size(); ++s) {
    all += counts[s];
    sum += static_cast<double>(s) * static_cast<double>(counts[s]);
  }
  if (all == 0) return found;
  const auto share = [&](std::int64_t of) {
    return static_cast<double>(of) / static_cast<double>(all);
  };
  found.mean = sum / static_cast<double>(all);
  std::size_t least = 0, end = 0;
  while (counts[least] == 0) ++least;
  std::int64_t left = all;
  for (end = least; share(left) > kTail; ++end) left -= counts[end];
  const std::size_t width = (end - least + most - 1) / most;
  for (std::size_t from = least; from < end; from += width) {
    const std::size_t to = std::min(from + width, end) - 1;
    std::int64_t count = 0;
    for (std::size_t s = from; s <= to; ++s) count += counts[s];
    found.bars.push_back({from, to, share(count)});
  }
  found.older = share(left);
  return found;
}

std::string staleness_text(const StalenessBars& found, std::int64_t expected) {
  std::string text;
  double most = 0;
  for (const StaleBar& bar : found.bars) most = std::max(most, bar.share);
  for (const StaleBar& bar : found.bars)
    text += fmt::format(
        "  {:>14} {:>7} {}{}\n",
        bar.from == bar.to ? fmt::format("{}", bar.from)
                           : fmt::format("{} to {}", bar.from, bar.to),
        readable_share(bar.share),
        std::string(static_cast<std::size_t>(std::llround(kBarWidth * bar.share / most)), '*'),
        static_cast<std::int64_t>(bar.from) <= expected &&
                expected <= static_cast<std::int64_t>(bar.to)
            ? fmt::format("  <- expected mean, {}", expected)
            : "");
  if (found.older > 0) text += fmt::format("  {:>14} {:>7}\n", "more", readable_share(found.older));
  return text;
}

}  // namespace trainyard

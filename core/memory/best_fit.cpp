#include "core/memory/best_fit.h"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace trainyard {
namespace {

struct Placed {
  std::int64_t from, to;   // time
  std::int64_t low, high;  // addresses
};

// Returns for each lifetime the most bytes alive at once during it. The time is quadratic, as for
// the placement itself.
std::vector<std::int64_t> totals(std::span<const Lifetime> lives,
                                 const std::vector<std::uint32_t>& order, Bytes alignment) {
  std::vector<std::int64_t> most(lives.size(), 0);
  for (const std::uint32_t at : order) {  // the maximum is reached where a lifetime begins
    std::int64_t alive = 0;
    for (const std::uint32_t i : order)
      if (lives[i].from <= lives[at].from && lives[at].from < lives[i].to)
        alive += rounded_up(lives[i].bytes, alignment);
    for (const std::uint32_t i : order)
      if (lives[i].from <= lives[at].from && lives[at].from < lives[i].to)
        most[i] = std::max(most[i], alive);
  }
  return most;
}

struct Rank {
  double first, second;
};

std::vector<std::uint32_t> ordered(std::span<const Lifetime> lives, FitOrder by, Bytes alignment) {
  std::vector<std::uint32_t> order;
  for (std::uint32_t i = 0; i < lives.size(); ++i)
    if (ever_there(lives[i])) order.push_back(i);
  if (by == FitOrder::BySizeThenBeginning)
    std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
      return lives[a].from < lives[b].from;
    });
  if (by == FitOrder::BySize || by == FitOrder::BySizeThenBeginning) {
    std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
      return rounded_up(lives[a].bytes, alignment) > rounded_up(lives[b].bytes, alignment);
    });
    return order;
  }
  std::vector<std::int64_t> total;
  if (by == FitOrder::ByTotal) total = totals(lives, order, alignment);
  std::vector<Rank> rank(lives.size());
  for (const std::uint32_t i : order) {
    const double width = static_cast<double>(lives[i].to) - static_cast<double>(lives[i].from);
    const double area = width * static_cast<double>(lives[i].bytes.value);
    rank[i] = {area, width};
    if (by == FitOrder::ByWidth) rank[i] = {width, area};
    if (by == FitOrder::ByTotal) rank[i] = {static_cast<double>(total[i]), area};
    if (by == FitOrder::ByBeginning) rank[i] = {-static_cast<double>(lives[i].from), width};
  }
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return rank[a].first != rank[b].first ? rank[a].first > rank[b].first
                                          : rank[a].second > rank[b].second;
  });
  return order;
}

}  // namespace

std::string_view to_string(FitOrder order) {
  switch (order) {
    case FitOrder::BySize:
      return "by size";
    case FitOrder::BySizeThenBeginning:
      return "by size, earlier first";
    case FitOrder::ByArea:
      return "by area";
    case FitOrder::ByWidth:
      return "by width";
    case FitOrder::ByTotal:
      return "by total";
    case FitOrder::ByBeginning:
      return "by beginning";
  }
  return "";
}

Placement1D best_fit(std::span<const Lifetime> lives, FitOrder by, Bytes alignment) {
  Placement1D result;
  result.offsets.assign(lives.size(), Bytes{});
  result.lower_bound = most_alive(lives, alignment);
  const std::vector<std::uint32_t> order = ordered(lives, by, alignment);
  std::vector<Placed> placed;  // sorted by address
  placed.reserve(order.size());
  for (const std::uint32_t i : order) {
    const std::int64_t size = rounded_up(lives[i].bytes, alignment);
    Placed made{lives[i].from, lives[i].to, 0, 0};
    for (const Placed& other : placed) {
      if (other.to <= made.from || made.to <= other.from) continue;
      if (other.low - made.low >= size) break;
      made.low = std::max(made.low, other.high);
    }
    made.high = made.low + size;
    result.offsets[i] = Bytes{made.low};
    result.reach = std::max(result.reach, Bytes{made.high});
    placed.insert(std::upper_bound(placed.begin(), placed.end(), made,
                                   [](const Placed& a, const Placed& b) { return a.low < b.low; }),
                  made);
  }
  return result;
}

}  // namespace trainyard

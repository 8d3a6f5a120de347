#include "core/memory/arena_parts.h"

#include <algorithm>
#include <numeric>

namespace trainyard {
namespace {

// Replaces instants by numbers of sections.
void number_sections(ArenaPart& part) {
  std::vector<std::int64_t> instants;
  for (const Lifetime& b : part.buffers) instants.push_back(b.from), instants.push_back(b.to);
  std::sort(instants.begin(), instants.end());
  instants.erase(std::unique(instants.begin(), instants.end()), instants.end());
  const auto number = [&](std::int64_t at) {
    return std::lower_bound(instants.begin(), instants.end(), at) - instants.begin();
  };
  for (Lifetime& b : part.buffers) b.from = number(b.from), b.to = number(b.to);
  part.sections = static_cast<int>(instants.size()) - 1;
}

}  // namespace

ArenaParts arena_parts(std::span<const Lifetime> lives, Bytes alignment) {
  ArenaParts result;
  std::vector<std::uint32_t> order;
  std::int64_t unit = 0;
  for (std::uint32_t i = 0; i < lives.size(); ++i) {
    if (!ever_there(lives[i])) continue;
    order.push_back(i);
    unit = std::gcd(unit, rounded_up(lives[i].bytes, alignment));
  }
  result.unit = std::max(unit, alignment.value);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return lives[a].from < lives[b].from; });
  std::int64_t end = 0;
  for (const std::uint32_t i : order) {
    if (result.parts.empty() || lives[i].from >= end) {
      result.parts.emplace_back();
      end = lives[i].to;
    }
    end = std::max(end, lives[i].to);
    result.parts.back().of.push_back(i);
  }
  for (ArenaPart& part : result.parts) {
    std::sort(part.of.begin(), part.of.end());
    for (const std::uint32_t i : part.of) {
      const std::int64_t size = rounded_up(lives[i].bytes, alignment) / result.unit;
      part.buffers.push_back({lives[i].from, lives[i].to, Bytes{size}});
    }
    number_sections(part);
    part.lower_bound = most_alive(part.buffers, Bytes{1}).value;
  }
  return result;
}

}  // namespace trainyard

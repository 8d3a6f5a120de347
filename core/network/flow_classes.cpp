#include "core/network/flow_classes.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "core/base/random.h"

namespace trainyard {
namespace {

using Colour = std::uint64_t;

Colour recoloured(Colour a, Colour b) { return Random(a).bits(b); }

Colour bits(double value) { return std::bit_cast<Colour>(value); }

std::size_t distinct(std::vector<Colour> colours) {
  std::sort(colours.begin(), colours.end());
  return static_cast<std::size_t>(std::unique(colours.begin(), colours.end()) - colours.begin());
}

// Numbers colours by their first occurrence.
std::vector<std::uint32_t> numbered(const std::vector<Colour>& colours) {
  std::vector<std::uint32_t> order(colours.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return colours[a] < colours[b]; });
  std::vector<std::uint32_t> first(colours.size());
  for (std::size_t i = 0; i < order.size(); ++i)
    first[order[i]] =
        i > 0 && colours[order[i]] == colours[order[i - 1]] ? first[order[i - 1]] : order[i];
  std::vector<std::uint32_t> number(colours.size());
  std::uint32_t next = 0;
  for (std::uint32_t i = 0; i < colours.size(); ++i)
    number[i] = first[i] == i ? next++ : number[first[i]];
  return number;
}

struct Refined {
  std::vector<Colour> flows, links;
};

// A colour is a hash of 64 bits of what has that colour seen so far. Sums of hashes tell multisets
// apart in any order.
Refined refined(const PlacedFlows& placed, const std::vector<double>& capacities) {
  Refined r;
  for (const PlacedFlow& f : placed.flows) r.flows.push_back(recoloured(f.pattern, bits(f.bytes)));
  std::vector<bool> used(capacities.size(), false);
  for (const FlowLink& over : placed.paths) used[over.link] = true;
  for (std::size_t l = 0; l < capacities.size(); ++l)
    r.links.push_back(used[l] ? recoloured(1, bits(capacities[l])) : 0);
  std::size_t kinds = 0;
  for (;;) {
    const std::size_t now = distinct(r.flows) + distinct(r.links);
    if (now == kinds) return r;
    kinds = now;
    std::vector<Colour> seen(r.links.size(), 0);
    for (std::size_t f = 0; f < placed.flows.size(); ++f) {
      const PlacedFlow& flow = placed.flows[f];
      for (std::uint32_t i = flow.first; i < flow.first + flow.count; ++i)
        seen[placed.paths[i].link] += recoloured(r.flows[f], bits(placed.paths[i].flows));
    }
    for (std::size_t l = 0; l < r.links.size(); ++l)
      if (used[l]) r.links[l] = recoloured(r.links[l], seen[l]);
    for (std::size_t f = 0; f < placed.flows.size(); ++f) {
      const PlacedFlow& flow = placed.flows[f];
      Colour sum = 0;
      for (std::uint32_t i = flow.first; i < flow.first + flow.count; ++i)
        sum += recoloured(r.links[placed.paths[i].link], bits(placed.paths[i].flows));
      r.flows[f] = recoloured(r.flows[f], sum);
    }
  }
}

}  // namespace

FlowClasses flow_classes(const PlacedFlows& placed, const std::vector<double>& capacities) {
  const Refined colours = refined(placed, capacities);
  FlowClasses made;
  constexpr std::uint32_t kUnused = UINT32_MAX;
  std::vector<std::uint32_t> link_class(capacities.size(), kUnused);
  {
    const std::vector<std::uint32_t> number = numbered(colours.links);
    std::vector<std::uint32_t> renumbered(capacities.size(), kUnused);
    for (std::uint32_t l = 0; l < capacities.size(); ++l) {
      if (colours.links[l] == 0) continue;
      std::uint32_t& as = renumbered[number[l]];
      if (as == kUnused) {
        as = static_cast<std::uint32_t>(made.links.size());
        made.links.push_back({capacities[l], 0, l});
      }
      link_class[l] = as;
      ++made.links[as].links;
    }
  }
  // Flow classes by pattern, then by first flow.
  const std::vector<std::uint32_t> number = numbered(colours.flows);
  std::vector<std::uint32_t> first;  // flow of each class, by number
  for (std::uint32_t f = 0; f < number.size(); ++f)
    if (number[f] == first.size()) first.push_back(f);
  std::vector<std::uint32_t> order(first.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return placed.flows[first[a]].pattern < placed.flows[first[b]].pattern;
  });
  std::vector<std::uint32_t> flow_class(first.size());
  made.first_of.assign(placed.patterns + 1, 0);
  for (std::uint32_t i = 0; i < order.size(); ++i) {
    flow_class[order[i]] = i;
    const PlacedFlow& flow = placed.flows[first[order[i]]];
    made.flows.push_back({flow.pattern, flow.bytes, 0, {}});
    ++made.first_of[flow.pattern + 1];
  }
  for (std::size_t p = 1; p < made.first_of.size(); ++p) made.first_of[p] += made.first_of[p - 1];
  // All links of a class are passed by as many flows of each class as its first link is.
  for (std::uint32_t f = 0; f < placed.flows.size(); ++f) {
    const PlacedFlow& flow = placed.flows[f];
    FlowClass& of = made.flows[flow_class[number[f]]];
    ++of.flows;
    for (std::uint32_t i = flow.first; i < flow.first + flow.count; ++i) {
      const FlowLink& over = placed.paths[i];
      const std::uint32_t as = link_class[over.link];
      if (made.links[as].example != over.link) continue;
      const auto known = std::find_if(of.path.begin(), of.path.end(),
                                      [&](const FlowLink& x) { return x.link == as; });
      if (known != of.path.end())
        known->flows += over.flows;
      else
        of.path.push_back({as, over.flows});
    }
  }
  return made;
}

}  // namespace trainyard

// Finds out whether lines of work, each done in order, can all be finished and, if not, which items
// wait for each other in a circle. Orders and programs are checked with the same algorithm.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace trainyard {

/// The items [first, first + count).
struct Line {
  std::uint32_t first = 0, count = 0;
};

/// One link of a circle: `waiting` stands at the head of its line until `awaited` is done. The next
/// link's waiting item is in the line of this one's awaited item, at or before it.
struct Wait {
  std::uint32_t waiting = 0, awaited = 0;
};

inline constexpr std::uint32_t kNothing = 0xFFFFFFFFu;

/// The state of an item during the walk: waiting before its turn; arrived if it has a peer and
/// waits for it; done.
enum class Progress : std::uint8_t { Waiting, Arrived, Done };

/// Works through all lines, which must cover each of `items` once. blocker(i, progress) is the
/// first item for which i still waits, or kNothing. Returns nothing if everything gets done, else
/// one circle. Takes time linear in the items and their dependencies.
template <class Blocker>
std::vector<Wait> find_circle(std::span<const Line> lines, std::size_t items, Blocker blocker) {
  std::vector<Progress> progress(items, Progress::Waiting);
  std::vector<std::uint32_t> waiters(items, kNothing);  // by item: the first line that waits for it
  std::vector<std::uint32_t> next_waiter(lines.size(), kNothing);  // by line: next line with the
                                                                   // same item
  std::vector<std::uint32_t> head(lines.size()), awaited(lines.size(), kNothing), ready;
  for (std::uint32_t l = 0; l < lines.size(); ++l) head[l] = lines[l].first, ready.push_back(l);
  while (!ready.empty()) {
    const std::uint32_t line = ready.back();
    ready.pop_back();
    const std::uint32_t end = lines[line].first + lines[line].count;
    for (awaited[line] = kNothing; head[line] < end; ++head[line]) {
      const std::uint32_t item = head[line], other = blocker(item, progress);
      if (other != kNothing) {
        awaited[line] = other;
        next_waiter[line] = waiters[other];
        waiters[other] = line;
        break;
      }
      progress[item] = Progress::Done;
      for (std::uint32_t w = waiters[item]; w != kNothing; w = next_waiter[w]) ready.push_back(w);
    }
  }
  const auto line_of = [&](std::uint32_t item) {
    std::uint32_t line = 0;
    while (item - lines[line].first >= lines[line].count)
      ++line;  // unsigned difference wraps below first
    return line;
  };
  // A stuck line waits for another stuck line, so following them must lead back.
  std::uint32_t line = 0;
  while (line < lines.size() && awaited[line] == kNothing) ++line;
  if (line == lines.size()) return {};
  for (std::size_t i = 0; i < lines.size(); ++i) line = line_of(awaited[line]);
  std::vector<Wait> circle;
  for (std::uint32_t at = line; circle.empty() || at != line; at = line_of(awaited[at]))
    circle.push_back({head[at], awaited[at]});
  const auto first = [](const Wait& a, const Wait& b) { return a.waiting < b.waiting; };
  std::rotate(circle.begin(), std::min_element(circle.begin(), circle.end(), first), circle.end());
  return circle;
}

/// Describes a circle: "A waits for B, which comes after C, which waits for A"; name(i) is the text
/// of an item.
template <class Name>
std::string describe(const std::vector<Wait>& circle, Name name) {
  constexpr std::size_t kMost = 12;  // longer ones are cut, in the middle of a repeating pattern
  std::string text;
  for (std::size_t i = 0; i < circle.size() && i < kMost; ++i) {
    const Wait& here = circle[i];
    const std::uint32_t next = circle[(i + 1) % circle.size()].waiting;
    text +=
        (i == 0 ? name(here.waiting) : std::string(", which")) + " waits for " + name(here.awaited);
    if (next != here.awaited) text += ", which comes after " + name(next);
  }
  if (circle.size() > kMost)
    text += " ... (" + std::to_string(circle.size() - kMost) + " more before it comes round)";
  return text;
}

}  // namespace trainyard

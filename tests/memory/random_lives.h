// Makes random lifetimes for the tests of placements, and finds errors in a placement of them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "core/base/random.h"
#include "core/base/units.h"
#include "core/memory/lifetime.h"

namespace trainyard::testing {

/// Layers of forward tensors freed by their backwards, with short-lived ones between: traces as
/// training makes them.
inline std::vector<Lifetime> trace(std::uint64_t seed) {
  const Random random(seed);
  std::uint64_t next = 0;
  const auto pick = [&](std::int64_t low, std::int64_t high) {
    return random.between(next++, low, high);
  };
  std::vector<Lifetime> lives;
  const std::int64_t layers = pick(1, 12);
  for (std::int64_t m = 0; m < pick(1, 4); ++m)
    for (std::int64_t l = 0; l < layers; ++l) {
      const std::int64_t made = m * pick(1, 8) + l;
      lives.push_back({made, made + 2 * (layers - l) + pick(0, 3), Bytes{pick(0, 40) * 64}});
      lives.push_back({made, made + pick(0, 2), Bytes{pick(1, 5000)}});
    }
  return lives;
}

/// Outputs of the nodes of a network that only answers, in steps: each lives until its last reader
/// has run. Nodes follow one another, with residual connections over some of them, and open into up
/// to four branches of unequal lengths whose ends are joined; scratch buffers live for one node.
inline std::vector<Lifetime> inference_trace(std::uint64_t seed) {
  const Random random(seed, 3);
  std::uint64_t next = 0;
  const auto pick = [&](std::int64_t low, std::int64_t high) {
    return random.between(next++, low, high);
  };
  std::vector<Lifetime> lives;
  std::int64_t now = 0;
  // Runs a node that reads the output `from`; returns its own.
  const auto node = [&](std::size_t from) {
    lives[from].to = std::max(lives[from].to, now + 1);
    if (pick(0, 3) == 0) lives.push_back({now, now + 1, Bytes{pick(1, 3000)}});
    lives.push_back({now, now + 1, Bytes{pick(1, 40) * 64}});
    ++now;
    return lives.size() - 1;
  };
  lives.push_back({now, now + 1, Bytes{pick(1, 40) * 64}});
  std::size_t last = 0;
  for (std::int64_t part = pick(2, 10); part > 0; --part) {
    const std::size_t from = last;
    const std::int64_t branches = pick(0, 4);
    if (branches < 2) {
      for (std::int64_t n = pick(1, 4); n > 0; --n) last = node(last);
      if (branches == 1) lives[from].to = now;  // the last of these nodes adds it
      continue;
    }
    std::vector<std::size_t> ends;
    for (std::int64_t b = 0; b < branches; ++b) {
      std::size_t end = from;
      for (std::int64_t n = pick(1, 3); n > 0; --n) end = node(end);
      ends.push_back(end);
    }
    last = node(ends.back());
    for (const std::size_t end : ends) lives[end].to = now;
  }
  return lives;
}

/// Up to `most` that begin and end anywhere in `times`, at most `bytes` each, some never there.
inline std::vector<Lifetime> scattered(std::uint64_t seed, std::int64_t most, std::int64_t times,
                                       std::int64_t bytes) {
  const Random random(seed, 1);
  std::uint64_t next = 0;
  std::vector<Lifetime> lives;
  for (std::int64_t n = random.between(next++, 1, most); n > 0; --n) {
    const std::int64_t from = random.between(next++, 0, times - 1);
    const std::int64_t to = random.between(next++, from, std::min(times, from + 5));
    lives.push_back({from, to, Bytes{random.between(next++, 0, bytes)}});
  }
  return lives;
}

/// Some that last, and one an instant that fills it up: the bound leaves no byte empty, so it often
/// cannot be reached. At most 6 + times, most_alive() is `bytes`.
inline std::vector<Lifetime> without_room(std::uint64_t seed, std::int64_t times,
                                          std::int64_t bytes) {
  const Random random(seed, 2);
  std::uint64_t next = 0;
  std::vector<Lifetime> lives;
  std::vector<std::int64_t> free(static_cast<std::size_t>(times), bytes);
  for (int i = 0; i < 6; ++i) {
    const std::int64_t from = random.between(next++, 0, times - 2);
    const std::int64_t to = random.between(next++, from + 2, times);
    const auto least = *std::min_element(free.begin() + from, free.begin() + to);
    const std::int64_t size = std::min(random.between(next++, 1, (bytes + 2) / 3), least);
    for (auto t = free.begin() + from; t != free.begin() + to; ++t) *t -= size;
    if (size > 0) lives.push_back({from, to, Bytes{size}});
  }
  for (std::int64_t t = 0; t < times; ++t)
    if (const std::int64_t rest = free[static_cast<std::size_t>(t)]; rest > 0)
      lives.push_back({t, t + 1, Bytes{rest}});
  return lives;
}

/// One sentence about the first error; empty if there is none.
inline std::string wrong_with(const std::vector<Lifetime>& lives, const std::vector<Bytes>& offsets,
                              Bytes reach, Bytes alignment) {
  Bytes highest{};
  for (std::size_t i = 0; i < lives.size(); ++i) {
    const std::string name = "lifetime " + std::to_string(i);
    if (offsets[i] < Bytes{}) return name + " begins below 0";
    if (offsets[i].value % alignment.value != 0) return name + " is not aligned";
    if (!ever_there(lives[i])) continue;
    highest = std::max(highest, offsets[i] + Bytes{rounded_up(lives[i].bytes, alignment)});
    for (std::size_t j = 0; j < i; ++j)
      if (ever_there(lives[j]) && meet(lives[i], lives[j]) &&
          offsets[i] < offsets[j] + lives[j].bytes && offsets[j] < offsets[i] + lives[i].bytes)
        return name + " overlaps " + std::to_string(j);
  }
  return highest == reach ? "" : "reaches " + std::to_string(highest.value);
}

}  // namespace trainyard::testing

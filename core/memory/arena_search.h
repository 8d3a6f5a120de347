// This file searches depth-first, from below, for a placement of one part of an arena within a
// capacity: each node of the search decides what lies lowest over one section, either directly on
// the floor or above a gap. It visits only placements in which every buffer rests on another and no
// buffer would fit into a hole below it. The placement with the least sum of offsets is among
// these, so no solution is lost. The idea of canonical placements is that of MiniMalloc (Moffitt,
// ASPLOS 2023); the choice of sections, the inference and the memory of failed states are our own.
#pragma once

#include <cstdint>
#include <stop_token>
#include <string>
#include <unordered_set>
#include <vector>

#include "core/memory/arena_skyline.h"

namespace trainyard {

/// SectionChoice says which section is decided next: the one with the fewest choices, one of the
/// lowest, or the one with the least slack.
enum class SectionChoice : std::uint8_t { Fewest, Lowest, Tightest };
/// BufferChoice says which buffer is tried first there.
enum class BufferChoice : std::uint8_t { Largest, Widest, LargestArea };

struct SearchOrder {
  SectionChoice section = SectionChoice::Fewest;
  BufferChoice buffer = BufferChoice::Largest;
  bool latest = false;     // takes the latest of equally good sections, else the earliest
  double spread = 0;       // each buffer's rank is multiplied by 1 to 1 + spread
  std::uint64_t seed = 0;  // seed of these random factors
};
std::string to_string(const SearchOrder&);  // "fewest choices, widest first"

enum class SearchEnd : std::uint8_t {
  Found,
  Impossible,  // proven: the part has no placement that fits
  OutOfNodes
};

/// An ArenaSearch is for one part and capacity. States that one run has proven impossible are not
/// tried again by the next.
class ArenaSearch {
 public:
  /// The part must outlive the search. Capacity is in the part's units.
  ArenaSearch(const ArenaPart&, std::int64_t capacity);

  /// Visits at most `nodes` nodes; equal orders give equal results. Throws Error{Cancelled} when
  /// stopped.
  SearchEnd run(const SearchOrder&, std::int64_t nodes, const std::stop_token& = {});
  /// After Found: the offset of each buffer of the part, in its units.
  std::vector<std::int64_t> offsets() const;
  std::int64_t nodes() const { return visited_; }  // over all runs

 private:
  struct Valley {  // sections [from, to) with one floor that is lower than those beside them
    int from, to;
  };
  struct Branch {  // what is decided next
    Valley valley{};
    int section = -1;
    bool gap = false;  // the section may stay empty above its floor
  };
  struct Group {  // sections [from, to) that are connected by open buffers
    int from = 0, to = 0;
    std::vector<int> open;
  };
  struct Key {
    std::uint64_t a = 0, b = 0;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct KeyHash {
    std::size_t operator()(const Key& key) const { return key.a; }
  };

  bool fill(int from, int to);
  bool fill_group(const Group&);
  std::vector<Group> groups(const std::vector<int>& open) const;
  Branch choose(const Group&);
  void choose_in(const Group&, Valley, Branch&, std::int64_t& best);
  std::vector<int> candidates(const Branch&) const;
  std::int64_t floor_above_gap(const Branch&, const Group&) const;
  bool rests(int buffer, std::int64_t offset) const;
  bool leaves_usable_hole(int buffer, std::int64_t offset, const Group&) const;
  bool same_shape(int a, int b) const;
  Key key_of(const Group&) const;

  const ArenaPart& part_;
  const std::int64_t capacity_;
  ArenaSkyline line_;
  std::vector<double> rank_;
  SearchOrder order_;
  std::int64_t visited_ = 0, last_ = 0;
  int depth_ = 0;
  bool gave_up_ = false;
  std::stop_token stop_;
  std::unordered_set<Key, KeyHash> failed_;
  std::vector<int> changes_;  // change of the number of candidates from section to section, for
                              // choose_in()
};

}  // namespace trainyard

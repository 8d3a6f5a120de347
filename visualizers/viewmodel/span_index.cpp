#include "visualizers/viewmodel/span_index.h"

#include <algorithm>

#include "visualizers/drawing/in_parallel.h"
#include "visualizers/viewmodel/folding.h"

namespace trainyard {
namespace {

std::int64_t length_of(const SpanStore& store, std::size_t global) {
  return store.end[global] - store.start[global];
}

// Nodes of a row's levels, all together.
std::size_t nodes_of(const SpanRow& row) {
  std::size_t nodes = 0;
  for (std::uint32_t level = longest_nodes(row.count);; level = longest_nodes(level)) {
    nodes += level;
    if (level < kLongestFan) return nodes;
  }
}

// Indices of one block of at most 64 spans: its time by category, and the longest of each 16.
void index_block(SpanStore& store, const SpanRow& row, std::uint32_t first, std::uint32_t last,
                 BusyTimes& busy) {
  for (std::uint32_t group = first; group < last; group += kLongestFan) {
    std::uint32_t best = group;
    std::int64_t most = -1;
    for (std::uint32_t i = group; i < std::min(last, group + kLongestFan); ++i) {
      const std::int64_t taken = length_of(store, row.first + i);
      busy[store.category[row.first + i]] += taken;
      if (taken > most) most = taken, best = i;
    }
    store.longest[row.longest + group / kLongestFan] = best;
  }
}

// The levels above the first, each from the one below.
void index_upper_levels(SpanStore& store, const SpanRow& row) {
  std::size_t below = row.longest, next = row.longest + longest_nodes(row.count);
  for (std::uint32_t nodes = longest_nodes(row.count); nodes >= kLongestFan;
       nodes = longest_nodes(nodes)) {
    const std::size_t level = next;
    for (std::uint32_t n = 0; n < nodes; n += kLongestFan) {
      std::uint32_t best = store.longest[below + n];
      for (std::uint32_t i = n + 1; i < std::min(nodes, n + kLongestFan); ++i) {
        const std::uint32_t other = store.longest[below + i];
        if (length_of(store, row.first + other) > length_of(store, row.first + best)) best = other;
      }
      store.longest[next++] = best;
    }
    below = level;
  }
}

// Into the row's parts of the arrays.
void index_row(SpanStore& store, const SpanRow& row) {
  BusyTimes busy{};
  BusyTimes* before = &store.busy_before[row.blocks];
  for (std::uint32_t first = 0; first < row.count; first += kBusyBlock) {
    *before++ = busy;
    index_block(store, row, first, std::min(row.count, first + kBusyBlock), busy);
  }
  *before = busy;
  index_upper_levels(store, row);
}

// Puts the folds of the rows one behind the other.
void keep_folds(SpanStore& store, std::vector<RowFolds>& rows) {
  std::size_t levels = 0, folds = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    store.rows[i].first_level = static_cast<std::uint32_t>(levels);
    store.rows[i].levels = static_cast<std::uint32_t>(rows[i].levels.size());
    for (FoldLevel& level : rows[i].levels) level.first += folds;
    levels += rows[i].levels.size();
    folds += rows[i].folds.size();
  }
  store.fold_levels.clear();
  store.folds.clear();
  store.fold_levels.reserve(levels);
  store.folds.reserve(folds);
  for (RowFolds& row : rows) {
    store.fold_levels.insert(store.fold_levels.end(), row.levels.begin(), row.levels.end());
    store.folds.insert(store.folds.end(), row.folds.begin(), row.folds.end());
    row = {};
  }
}

}  // namespace

void index_spans(SpanStore& store) {
  std::size_t nodes = 0, blocks = 0;
  for (SpanRow& row : store.rows) {
    row.longest = nodes;
    row.blocks = blocks;
    nodes += nodes_of(row);
    blocks += (row.count + kBusyBlock - 1) / kBusyBlock + 1;
  }
  store.longest.resize(nodes);
  store.busy_before.resize(blocks);
  std::vector<RowFolds> folds(store.rows.size());
  in_parallel(store.rows.size(), [&](std::size_t i) {
    index_row(store, store.rows[i]);
    // While the row's spans are still in the processor's cache.
    folds[i] = index_folds(store, static_cast<std::uint32_t>(i));
  });
  keep_folds(store, folds);
  // A copy of millions of spans costs more than a few spare ones.
  if (store.start.capacity() - store.start.size() <= store.start.size() / 16) return;
  store.start.shrink_to_fit();
  store.end.shrink_to_fit();
  store.name.shrink_to_fit();
  store.category.shrink_to_fit();
}

}  // namespace trainyard

#include "core/training/table_study.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <unordered_map>

#include "core/base/error.h"
#include "core/model/hot_rows.h"
#include "core/model/reference.h"
#include "core/model/trained_tables.h"

namespace trainyard {
namespace {

// Look-ups of a table that are counted, and microbatches at most that they are of.
constexpr std::int64_t kMostCounted = 131072, kMostMicrobatches = 4096, kLeastMicrobatches = 2;

double numbers_of(const OwnTable& table) {
  return static_cast<double>(table.rows) * static_cast<double>(table.width);
}

// The cores of a table at a rank; nothing where it stays as it is.
std::optional<TensorTrain> train_at(const TableQuestion& q, const OwnTable& table,
                                    std::int64_t rank) {
  if (rank == 0 || table.rows < q.least_rows) return std::nullopt;
  const TensorTrain train = tensor_train_of(table.rows, table.width, rank);
  return static_cast<double>(train.weights()) < numbers_of(table) ? std::optional(train)
                                                                  : std::nullopt;
}

double numbers_at(const TableQuestion& q, const std::vector<OwnTable>& tables, std::int64_t rank) {
  double sum = 0;
  for (const OwnTable& table : tables) {
    const std::optional<TensorTrain> train = train_at(q, table, rank);
    sum += train ? static_cast<double>(train->weights()) : numbers_of(table);
  }
  return sum;
}

Bytes held(const TableQuestion& q, double numbers) {
  return Bytes{std::llround(numbers * static_cast<double>(q.bytes))};
}

TablesAtRank at_rank(const TableQuestion& q, const std::vector<OwnTable>& tables,
                     std::int64_t rank) {
  TablesAtRank made;
  made.rank = rank;
  const double numbers = numbers_at(q, tables, rank);
  made.bytes = held(q, numbers);
  made.times = numbers_at(q, tables, 0) / numbers;
  for (const OwnTable& table : tables)
    if (const std::optional<TensorTrain> train = train_at(q, table, rank)) {
      made.forward_flops += train->flops();
      made.backward_flops += train->gradient_flops();
    }
  if (q.price) made.priced = q.price(rank);
  return made;
}

// Cores of a larger rank have more numbers, so that the last rank that is small enough is found by
// halving.
std::optional<std::int64_t> best_rank(const TableQuestion& q, const std::vector<OwnTable>& tables) {
  const double whole = numbers_at(q, tables, 0);
  const auto small = [&](std::int64_t rank) {
    return whole >= q.times * numbers_at(q, tables, rank);
  };
  if (!small(1)) return std::nullopt;
  std::int64_t low = 1, high = kMostRank + 1;  // small(low), and not small(high) or beyond the last
  while (high - low > 1) {
    const std::int64_t middle = std::midpoint(low, high);
    (small(middle) ? low : high) = middle;
  }
  return low;
}

// 10, 30, 100, 300, ... until every table is held whole.
std::vector<std::int64_t> cache_sizes(std::int64_t most_rows) {
  constexpr std::int64_t kFirst = 10, kTimes = 10, kBetween = 3;
  std::vector<std::int64_t> sizes;
  for (std::int64_t size = kFirst; size < most_rows; size *= kTimes)
    for (const std::int64_t one : {size, kBetween * size})
      if (one < most_rows) sizes.push_back(one);
  sizes.push_back(most_rows);
  return sizes;
}

// Entry r: how many look-ups go to the r most frequent rows, most.size() = rows + 1.
std::vector<std::int64_t> summed(std::vector<std::int64_t> counts) {
  std::sort(counts.begin(), counts.end(), std::greater<>());
  std::vector<std::int64_t> sums = {0};
  for (const std::int64_t count : counts) sums.push_back(sums.back() + count);
  return sums;
}

std::int64_t up_to(const std::vector<std::int64_t>& sums, std::int64_t rows) {
  return sums[std::min(static_cast<std::size_t>(rows), sums.size() - 1)];
}

using Counts = std::unordered_map<std::int64_t, std::int64_t>;  // by row; its order is not read

Counts counted(std::span<const std::int64_t> ids) {
  Counts counts;
  for (const std::int64_t id : ids) ++counts[id];
  return counts;
}

std::vector<std::int64_t> values_of(const Counts& counts) {
  std::vector<std::int64_t> values;
  for (const auto& [row, count] : counts) values.push_back(count);
  return values;
}

// Look-ups of one table in the data: for a cache of r rows, hits in the later half of microbatches
// of what was most frequent in the first half, and rows that each microbatch spares.
struct Looked {
  std::int64_t later = 0, all = 0;
  std::vector<std::int64_t> hits;
  std::vector<std::vector<std::int64_t>> microbatches;

  void add(const std::vector<std::vector<std::int64_t>>& ids) {
    const std::size_t half = ids.size() / 2;
    std::vector<std::int64_t> before, after;
    for (std::size_t m = 0; m < ids.size(); ++m) {
      std::vector<std::int64_t>& into = m < half ? before : after;
      into.insert(into.end(), ids[m].begin(), ids[m].end());
      microbatches.push_back(summed(values_of(counted(ids[m]))));
      all += microbatches.back().back();
    }
    const Counts first = counted(before), then = counted(after);
    std::vector<std::pair<std::int64_t, std::int64_t>> order(first.begin(), first.end());
    std::sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
      return a.second != b.second ? a.second > b.second : a.first < b.first;
    });
    later = static_cast<std::int64_t>(after.size());
    hits = {0};
    for (const auto& [row, count] : order) {
      const auto found = then.find(row);
      hits.push_back(hits.back() + (found == then.end() ? 0 : found->second));
    }
  }
  std::int64_t spared(std::int64_t rows) const {
    std::int64_t sum = 0;
    for (const std::vector<std::int64_t>& sums : microbatches)
      sum += up_to(sums, rows) - std::min(rows, static_cast<std::int64_t>(sums.size()) - 1);
    return sum;
  }
};

Looked looked_up(const TableQuestion& q, const OwnTable& table) {
  const Graph& graph = q.model.blocks[static_cast<std::size_t>(table.block)].graph;
  Binding binding;
  binding.micro_batch = q.micro_batch, binding.sequence = q.sequence;
  const std::vector<std::int64_t> shape = local_shape(graph[table.ids], binding);
  const std::int64_t each = local_elements(graph[table.ids].shape, binding);
  const std::int64_t microbatches =
      std::clamp(kMostCounted / each, kLeastMicrobatches, kMostMicrobatches);
  std::vector<std::vector<std::int64_t>> ids;
  for (std::int64_t m = 0; m < microbatches; ++m) {
    if (q.stop.stop_requested()) throw Error(Error::Kind::Cancelled, "the study was stopped");
    ids.emplace_back(static_cast<std::size_t>(each));
    q.data->fill({q.model, graph, table.ids, shape, m * q.micro_batch}, ids.back());
  }
  Looked looked;
  looked.add(ids);
  return looked;
}

std::vector<CachedRows> cached_rows(const TableQuestion& q, const std::vector<OwnTable>& tables,
                                    TableStudy& study) {
  std::vector<OwnTable> cached;
  std::int64_t most_rows = 0;
  for (const OwnTable& table : tables)
    if (table.rows >= q.least_rows) {
      cached.push_back(table);
      most_rows = std::max(most_rows, table.rows);
    }
  if (cached.empty()) return {};
  std::vector<Looked> looked;
  std::int64_t later = 0;
  if (q.data != nullptr)
    for (const OwnTable& table : cached) {
      looked.push_back(looked_up(q, table));
      study.counted += looked.back().all;
      later += looked.back().later;
    }
  std::vector<CachedRows> found;
  for (const std::int64_t rows : cache_sizes(most_rows)) {
    CachedRows at{rows};
    double lookups = 0, hits = 0, spared = 0;
    for (const OwnTable& table : cached) {
      Binding binding;
      binding.micro_batch = q.micro_batch, binding.sequence = q.sequence;
      const Graph& graph = q.model.blocks[static_cast<std::size_t>(table.block)].graph;
      const std::int64_t each = local_elements(graph[table.ids].shape, binding);
      const double share = static_cast<double>(each) * zipf_share(rows, table.rows, q.zipf);
      lookups += static_cast<double>(each);
      hits += share;
      spared += share - zipf_reached(rows, table.rows, q.zipf, each);
    }
    at.hits = hits / lookups, at.spared = std::max(0.0, spared / lookups);
    if (q.data != nullptr) {
      std::int64_t counted_hits = 0, counted_spared = 0;
      for (const Looked& one : looked)
        counted_hits += up_to(one.hits, rows), counted_spared += one.spared(rows);
      at.counted_hits = static_cast<double>(counted_hits) / static_cast<double>(later);
      at.counted_spared = static_cast<double>(counted_spared) / static_cast<double>(study.counted);
    }
    found.push_back(at);
  }
  return found;
}

}  // namespace

TableStudy study_tables(const TableQuestion& q) {
  std::vector<OwnTable> tables = own_tables(q.model);
  std::stable_sort(tables.begin(), tables.end(), [](const OwnTable& a, const OwnTable& b) {
    return numbers_of(a) > numbers_of(b);
  });
  const bool any = std::any_of(tables.begin(), tables.end(), [&](const OwnTable& table) {
    return train_at(q, table, 1).has_value();
  });
  // This says which tables there are.
  if (!any) with_table_trains(q.model, {1, q.least_rows}, {"plan#/choices/tensor-train/tables"});
  TableStudy study;
  study.times = q.times, study.zipf = q.zipf;
  study.micro_batch = q.micro_batch;
  study.best = best_rank(q, tables);
  study.chosen = q.chosen > 0;
  study.rank = q.chosen > 0 ? q.chosen : study.best.value_or(0);
  std::vector<std::int64_t> ranks = q.ranks;
  ranks.push_back(0);
  for (const std::int64_t one : {study.rank, study.best.value_or(0)}) ranks.push_back(one);
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  for (const std::int64_t rank : ranks) {
    if (q.stop.stop_requested()) throw Error(Error::Kind::Cancelled, "the study was stopped");
    study.ranks.push_back(at_rank(q, tables, rank));
  }
  for (const OwnTable& table : tables)
    study.tables.push_back({table.name, table.rows, table.width, held(q, numbers_of(table)),
                            train_at(q, table, study.rank)});
  study.caches = cached_rows(q, tables, study);
  if (q.data != nullptr) study.data = q.data_words;
  return study;
}

}  // namespace trainyard

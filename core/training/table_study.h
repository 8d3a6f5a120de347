// A study of embedding tables as tensor trains (core/model/tensor_train.h): what their numbers and
// look-ups take at each rank, the largest rank that keeps them small, and how many look-ups a cache
// of hot rows serves: by Zipf's law, and in the rows that data look up.
//
// Yin et al., "TT-Rec: Tensor Train Compression for Deep Learning Recommendation Models", MLSys
// 2021 (arXiv 2101.11714).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "core/base/units.h"
#include "core/model/tensor_train.h"
#include "core/training/data_source.h"

namespace trainyard {

inline constexpr std::int64_t kMostRank = 4096;

/// A step of the plan and the memory of its fullest device, with tables as asked.
struct PricedTables {
  Duration step{};
  Bytes peak{};
};

struct TableQuestion {
  Model model;                           // with its tables
  std::vector<std::int64_t> ranks = {};  // rising, each in [1, kMostRank]
  std::int64_t chosen = 0;               // rank of the plan; 0 = it trains tables as they are
  std::int64_t least_rows = 1000;        // of a table that is trained as cores, >= 1
  double zipf = 1;                       // exponent of the law by which rows are looked up, > 0
  double times = 100;      // the chosen rank is the largest that makes them so much smaller, >= 1
  std::int64_t bytes = 4;  // of a number, >= 1
  std::int64_t micro_batch = 1, sequence = 1;  // samples of a microbatch, and tokens of a sample
  const DataSource* data = nullptr;  // whose look-ups are counted; null = none are. Must outlive
                                     // the study
  std::string data_words = {};       // what that is, in words
  /// Prices the plan at a rank, 0 being tables as they are; nothing where such a plan is refused.
  /// May be empty.
  std::function<std::optional<PricedTables>(std::int64_t rank)> price = {};
  std::stop_token stop = {};
};

/// All tables of the model at one rank.
struct TablesAtRank {
  std::int64_t rank = 0;  // 0: as they are
  Bytes bytes{};          // of their numbers, of tables that stay as they are too
  double times = 1;       // how much smaller that is than tables as they are
  // FLOPs of one look-up in each table. A table that stays as it is copies a row, and takes none.
  double forward_flops = 0, backward_flops = 0;
  std::optional<PricedTables> priced = {};
};

struct StudiedTable {
  std::string name;
  std::int64_t rows = 0, width = 0;
  Bytes bytes{};                          // as it is
  std::optional<TensorTrain> train = {};  // at TableStudy::rank; nothing where it stays as it is
  friend bool operator==(const StudiedTable&, const StudiedTable&) = default;
};

/// A cache of the most frequent rows of each table that is trained as cores. Shares are of all
/// look-ups of these tables, in [0, 1].
struct CachedRows {
  std::int64_t rows = 0;  // of each table; a smaller one has all of its rows there
  double hits = 0;        // by Zipf's law: look-ups of these rows
  double spared = 0;      // by Zipf's law: rows that a microbatch need not make once more
  std::optional<double> counted_hits = {};    // in later look-ups, of rows most frequent before
  std::optional<double> counted_spared = {};  // as tt-cache spares them in microbatches of the data
};

struct TableStudy {
  std::int64_t rank = 0;                  // the plan's, or else the best one; 0 = there is neither
  bool chosen = false;                    // the rank is the plan's
  std::optional<std::int64_t> best = {};  // the largest rank that makes tables `times` smaller
  double times = 100;                     // as asked
  double zipf = 1;
  std::vector<TablesAtRank> ranks = {};   // first tables as they are, then rising
  std::vector<StudiedTable> tables = {};  // the largest first
  std::vector<CachedRows> caches = {};    // by rising size
  std::int64_t micro_batch = 0;           // samples of a microbatch
  std::int64_t counted = 0;               // look-ups that were counted; 0 = none
  std::string data = {};                  // whose they are, in words
};

/// Throws Error{InvalidInput} where the model has no table that could be trained as cores, and
/// Error{Cancelled} when stopped. Look-ups are those of the first microbatches that a run reads.
TableStudy study_tables(const TableQuestion&);

}  // namespace trainyard

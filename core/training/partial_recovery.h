// Partial recovery of a recommender: ranks divide its embedding tables, and where one fails only
// its shard of them goes back to its last save. The other ranks go on from where they are, nothing
// is computed again, and what the shard had learnt since its save is lost. Under full recovery all
// ranks go back and repeat the steps instead.
//
// Maeng et al., "CPR: Understanding and Improving Failure Tolerant Training for Deep Learning
// Recommendation with Partial Recovery", MLSys 2021.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "core/base/units.h"

namespace trainyard {

/// ShardSaving says what is saved of the tables, and when. Plain saves every row at each interval.
/// The last three save a share of the rows so many times as often, which writes no more bytes:
/// those that were looked up most often since their last save (most frequently used), those in a
/// list of every second look-up (sub-sampled used), and those that have changed most (SCAR: Qiao et
/// al., "Fault Tolerance in Iterative-Convergent Machine Learning", ICML 2019).
enum class ShardSaving : std::uint8_t { Off, Full, Plain, Mfu, Ssu, Scar };
inline constexpr std::array<std::string_view, 6> kShardSavings = {"off", "full", "plain",
                                                                  "mfu", "ssu",  "scar"};
inline std::string_view to_string(ShardSaving how) {
  return kShardSavings[static_cast<std::size_t>(how)];
}

/// A rank that fails once, after so many updates and before what is then due is saved.
struct ShardKill {
  std::int64_t step = 1, rank = 0;
  friend bool operator==(const ShardKill&, const ShardKill&) = default;
};

struct PartialRecovery {
  ShardSaving how = ShardSaving::Off;
  std::int64_t save = 16;  // updates in which as many rows are saved as there are, at least 1
  double part = 0.125;     // share of the rows that the last three save at once, in (0, 1]
  std::vector<ShardKill> kills = {};

  bool on() const { return how != ShardSaving::Off; }
  bool chooses_rows() const { return how > ShardSaving::Plain; }
  /// Returns the updates between two saves, at least 1.
  std::int64_t every() const;
  friend bool operator==(const PartialRecovery&, const PartialRecovery&) = default;
};

/// Reads a word of kShardSavings. Throws Error{InvalidInput} with the nearest.
ShardSaving read_shard_saving(std::string_view, const Place&);
/// Reads "20:1,35:0", steps with the ranks that fail after them, and "off" as none;
/// shard_kills_text() writes it. Throws Error{InvalidInput}.
std::vector<ShardKill> read_shard_kills(std::string_view, const Place&);
std::string shard_kills_text(const PartialRecovery&);
/// Returns what is wrong with the settings in a run of so many updates.
Diagnostics check(const PartialRecovery&, std::int64_t steps);

/// ShardLoss is what a failed rank has cost. A row that two ranks have a part of counts for each of
/// them.
struct ShardLoss {
  ShardKill kill;
  std::int64_t samples = 0;  // trained since the last interval of all rows began
  std::int64_t rows = 0;     // went back to an older state
  std::int64_t lookups = 0;  // of these rows since their saves: no trace of them is left
};

/// RecoveryReport says what failed ranks have cost a run, and what it has saved for them.
struct RecoveryReport {
  ShardSaving how = ShardSaving::Off;
  std::int64_t shards = 1, samples = 0;    // of the whole training
  std::int64_t saves = 0, rows_saved = 0;  // rows by shard
  Bytes saved{};                           // of rows with their optimizer state; Full: of all
  Bytes mirrored{};                        // of other parameters, which a neighbour holds too
  std::int64_t lookups = 0;                // of rows, in this session
  std::int64_t steps_repeated = 0;         // Full alone repeats steps
  std::vector<ShardLoss> losses = {};      // in the order of the failures
  std::int64_t lost_lookups() const;
  /// Returns the paper's portion of lost samples: each failure of one of N shards adds the samples
  /// since the last interval of all rows began, which under Plain is their last save, over N times
  /// the samples of the whole training. 0 under Full, and above 1 where failures are frequent.
  double lost_samples() const;
};

}  // namespace trainyard

// RowSaves decide which rows of a shard of embedding tables are saved next, and meter what a
// failure of the shard would lose (core/training/partial_recovery.h). They know rows by number
// only.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/random.h"
#include "core/training/partial_recovery.h"

namespace trainyard {

class RowSaves {
 public:
  /// All rows begin as saved. `seed` decides which row a full list of Ssu forgets.
  RowSaves(const PartialRecovery&, std::int64_t rows, std::uint64_t seed);

  std::int64_t rows() const { return static_cast<std::int64_t>(unsaved_.size()); }
  /// Says that a trained sample has looked up the row, in the order of samples.
  void look_up(std::int64_t row);
  /// Returns the rows that are to be saved now, in rising order: all under Full and Plain, else at
  /// most the share that the settings say, and none that has not been looked up. `change` is how
  /// far a row is from its save; Scar alone asks for it.
  std::vector<std::int64_t> choose(const std::function<double(std::int64_t)>& change);
  /// Says that these rows have been saved.
  void saved(std::span<const std::int64_t> rows);
  /// Returns the look-ups of a row since its last save, and those of all rows: what a failure
  /// loses.
  std::int64_t unsaved(std::int64_t row) const { return unsaved_[static_cast<std::size_t>(row)]; }
  std::int64_t at_risk() const { return at_risk_; }
  /// Says that all rows are as they were saved, after a failure; what was counted is forgotten too.
  void went_back();
  /// Returns what was counted, with which RowSaves of as many rows in another process go on.
  std::string counted() const;
  void go_on(std::string_view counted);

 private:
  std::vector<std::int64_t> highest(const std::function<double(std::int64_t)>& of) const;

  ShardSaving how_;
  std::size_t most_;                    // rows of one save
  std::vector<std::uint32_t> unsaved_;  // look-ups since the row's save
  std::int64_t at_risk_ = 0;
  Random random_;
  std::uint64_t seen_ = 0;          // look-ups
  std::vector<std::int64_t> list_;  // Ssu: rows, each once
  std::vector<bool> listed_;
};

}  // namespace trainyard

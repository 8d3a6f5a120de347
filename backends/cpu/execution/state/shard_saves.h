// ShardSaves are what a run keeps for ranks that fail (core/training/partial_recovery.h): the saved
// rows of each rank's shard of the embedding tables with their optimizer state, and of all other
// parameters the newest, which a neighbour holds as well. They meter what a failure loses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "backends/backend.h"
#include "backends/cpu/execution/cpu_execution.h"
#include "core/training/row_saves.h"

namespace trainyard {

/// Adds a diagnostic for each thing about the job for which ranks that fail cannot recover.
void check_recovery(const BackendJob&, Diagnostics&);

class ShardSaves {
 public:
  /// All is as saved that the execution then holds. Full: `state` is what keep() keeps. All other
  /// arguments must outlive it.
  ShardSaves(CpuExecution&, const Workload&, const Training&, const DataSource&, std::string state);

  /// Says that an update has ended: counts its look-ups. Must be called after each.
  void see_update();
  /// Returns the ranks that fail after it, each once in a run.
  std::vector<ShardKill> failing();
  /// The rank loses its memory. Other memory takes its place with the rows as they were saved, and
  /// all else as it is; under Full without a number, until all ranks go back.
  void lose(const ShardKill&);
  /// Returns whether it is time to save.
  bool due() const;
  void save();
  /// Full: keeps the state of all devices, as bytes of a checkpoint, and returns it.
  void keep(std::string bytes);
  const std::string& kept() const { return kept_; }
  /// Full: says that the run has gone back to the state that is kept.
  void went_back(std::int64_t repeats) { report_.steps_repeated += repeats; }
  const RecoveryReport& report() const { return report_; }

 private:
  struct Table {
    int layer = 0;  // of the model
    const Graph* graph = nullptr;
    TensorId ids, weights;
    std::int64_t width = 0;
  };
  // The rows of a table of which a rank holds at least a part.
  struct HeldRows {
    std::size_t part = 0, table = 0;  // of held_parts(), and of tables_
    std::int64_t first = 0, count = 0;
    std::int64_t number = 0;  // of the first among all rows of the shard
  };
  struct Shard {
    std::vector<HeldRows> held;
    RowSaves rows;
    std::vector<std::vector<std::vector<std::byte>>> saved;  // by part and state
  };
  using Parts = std::vector<CpuExecution::HeldPart>;
  friend void check_recovery(const BackendJob&, Diagnostics&);
  static std::vector<Table> tables_of(const Model&);
  Shard begun_shard(int rank);
  template <class F>
  void each_state_of(const Shard&, const Parts&, std::int64_t row, F&&) const;
  double change(const Shard&, const Parts&, std::int64_t row) const;
  void mirror(Shard&, const Parts&);
  std::int64_t done() const { return execution_.updates() - first_update_; }

  CpuExecution& execution_;
  const Workload& workload_;
  const Training& training_;
  const DataSource& data_;
  std::vector<Table> tables_;
  std::vector<Shard> shards_;  // by rank
  std::vector<bool> struck_;   // by kill of the settings
  std::int64_t first_update_ = 0;
  std::string kept_;
  RecoveryReport report_;
};

}  // namespace trainyard

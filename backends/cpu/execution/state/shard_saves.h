// ShardSaves are what a run keeps for ranks that fail (core/training/partial_recovery.h): the saved
// rows of each rank's shard of the embedding tables with their optimizer state, and of all other
// parameters the newest, which a neighbour holds as well. They meter what a failure loses.
//
// Where ranks are processes, one that fails is killed. What is kept for it is in the memory of the
// next rank's process, as in-memory checkpoints are (Wang et al., "Gemini: Fast Failure Recovery in
// Distributed Training with In-Memory Checkpoints", SOSP 2023), and once more in its own, from
// which it goes to another holder if that one is lost. All processes count the look-ups of all
// ranks, which are functions of the data, so that the meter of a rank survives it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backends/backend.h"
#include "backends/cpu/execution/cpu_execution.h"
#include "core/training/row_saves.h"

namespace trainyard {

/// Adds a diagnostic for each thing about the job for which ranks that fail cannot recover.
void check_recovery(const BackendJob&, Diagnostics&);

class ShardSaves {
 public:
  // Processes call all that is not const together, each with its devices, a rank in each.

  /// All is as saved that the execution then holds. Full: `state` is what keep() keeps. All other
  /// arguments must outlive it. In a process that has taken a lost one's place, its rank is as
  /// lose() leaves it instead, and the execution goes on where the others are.
  ShardSaves(CpuExecution&, const Workload&, const Training&, const DataSource&, std::string state);
  /// Returns the session that lose() was given for this process; empty unless it has taken a lost
  /// one's place.
  const std::string& session() const { return session_; }

  /// Says that an update has ended: counts its look-ups. Must be called after each.
  void see_update();
  /// Returns the next rank that fails after it, each once in a run.
  std::optional<ShardKill> next_failing();
  /// The rank loses its memory. Other memory takes its place with the rows as they were saved, and
  /// all else as it is; under Full without a number, until all ranks go back. A process is killed,
  /// and the one that takes its place is given `session`, which must be alike on all.
  void lose(const ShardKill&, const std::function<std::string()>& session);
  /// Meters the same of a rank whose process has ended by itself, and in whose place there is
  /// another.
  void meter_lost(const ShardKill&);
  void hand_over(int rank, const std::string& session);
  /// Returns all that this process knows and keeps, to which it can go_back() with the devices that
  /// it then holds.
  std::string held();
  void go_back(std::string_view held);
  /// Returns whether it is time to save.
  bool due() const;
  void save();
  /// Full: keeps the state of the devices, as bytes of a checkpoint.
  void keep(std::string bytes);
  const std::string& kept() const { return kept_; }
  /// Full: says that the run has gone back to the state that is kept.
  void went_back(std::int64_t repeats) { report_.steps_repeated += repeats; }
  const RecoveryReport& report() const { return report_; }
  /// Returns what is kept here for ranks that fail.
  Bytes bytes() const;

 private:
  struct Table {
    int layer = 0;  // of the model
    const Graph* graph = nullptr;
    TensorId ids, weights;
    std::int64_t width = 0;
  };
  // A Part describes a CpuExecution::HeldPart of any rank, whose numbers may be in another process.
  struct Part {
    int model_layer = 0;
    TensorId tensor;
    std::int64_t first = 0, elements = 0;
    DType type = DType::F32;
    std::vector<std::uint64_t> each;  // bytes of an element, by state
  };
  // The rows of a table of which a rank holds at least a part.
  struct HeldRows {
    std::size_t part = 0, table = 0;  // of the rank's, and of tables_
    std::int64_t first = 0, count = 0;
    std::int64_t number = 0;  // of the first among all rows of the shard
  };
  struct Shard {
    std::vector<Part> parts;
    std::vector<HeldRows> held;
    RowSaves rows;
    // Saved bytes, by part and state. A process has those of its rank and of the rank before.
    std::vector<std::vector<std::vector<std::byte>>> saved = {};
  };
  using Parts = std::vector<CpuExecution::HeldPart>;
  friend void check_recovery(const BackendJob&, Diagnostics&);
  static std::vector<Table> tables_of(const Model&);
  static std::vector<Part> parts_of(const Parts&);
  static std::string packed(const std::vector<Part>&);
  static std::vector<Part> unpacked(std::string_view);
  Shard begun_shard(int rank, std::vector<Part>) const;
  // Calls f(part, index of the state, byte of its first number in it, bytes) for all that the rank
  // holds of the row.
  template <class F>
  void each_state_of(const Shard&, std::int64_t row, F&&) const;
  // Calls f(part, index of the state, bytes) for all that is of no table.
  template <class F>
  void each_mirrored(const Shard&, F&&) const;
  double change(const Shard&, const Parts&, std::int64_t row) const;
  std::vector<std::vector<std::int64_t>> chosen_rows();
  void restore(int rank);
  bool here(int rank) const { return execution_.here(DeviceId{0}, rank); }
  Shard& shard(int rank) { return shards_[static_cast<std::size_t>(rank)]; }

  // Defined in shard_processes.cpp: what goes between ranks that are processes.
  bool keeps_for(int rank) const;
  int after(int rank) const { return (rank + 1) % execution_.peers(); }
  int before(int rank) const { return (rank + execution_.peers() - 1) % execution_.peers(); }
  void send(int to, const std::string&);
  std::string receive(int from);
  std::string pass_on(const std::string&);
  void pass_on_mirrored();
  void pass_on_rows(const std::vector<std::vector<std::int64_t>>& rows);
  std::string kept_for(int rank);
  void keep_for(int rank, const std::string&);
  std::string counted() const;
  void go_on(const std::string& counted);
  void take_over();

  std::int64_t done() const { return execution_.updates() - first_update_; }

  CpuExecution& execution_;
  const Workload& workload_;
  const Training& training_;
  const DataSource& data_;
  std::vector<Table> tables_;
  std::vector<Shard> shards_;  // by rank
  std::vector<bool> struck_;   // by kill of the settings
  std::int64_t first_update_ = 0;
  std::string kept_, kept_before_;  // Full: of this process, and of the one before it
  std::string session_;
  RecoveryReport report_;
};

template <class F>
void ShardSaves::each_state_of(const Shard& shard, std::int64_t row, F&& f) const {
  const auto held =
      std::prev(std::upper_bound(shard.held.begin(), shard.held.end(), row,
                                 [](std::int64_t r, const HeldRows& h) { return r < h.number; }));
  const Part& part = shard.parts[held->part];
  const std::int64_t width = tables_[held->table].width,
                     in_table = held->first + row - held->number,
                     from = std::max(part.first, in_table * width) - part.first,
                     to = std::min(part.first + part.elements, (in_table + 1) * width) - part.first;
  for (std::size_t s = 0; s < part.each.size(); ++s)
    f(held->part, s, static_cast<std::size_t>(from) * part.each[s],
      static_cast<std::size_t>(to - from) * part.each[s]);
}

template <class F>
void ShardSaves::each_mirrored(const Shard& shard, F&& f) const {
  for (std::size_t i = 0; i < shard.parts.size(); ++i) {
    if (std::any_of(shard.held.begin(), shard.held.end(),
                    [&](const HeldRows& held) { return held.part == i; }))
      continue;
    for (std::size_t s = 0; s < shard.parts[i].each.size(); ++s)
      f(i, s, static_cast<std::size_t>(shard.parts[i].elements) * shard.parts[i].each[s]);
  }
}

}  // namespace trainyard

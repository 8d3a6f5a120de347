// This file reads the pickle that torch.cuda.memory._dump_snapshot() writes, as plain data: see
// pickle_reader.h.
#pragma once

#include <functional>
#include <stop_token>
#include <string>
#include <string_view>

#include "core/memory/memory_snapshot.h"

namespace trainyard {

struct SnapshotImportOptions {
  std::stop_token stop = {};
  std::function<void(double)> progress = {};  // share of the file that is read, in [0, 1]
  /// Is called once when `first_events` events are read, with them as the events of device 0, so
  /// that the beginning can be shown while the rest is read. It is not called where there are fewer
  /// events, where events have no times, or where the times show that they belong to several
  /// devices. Reading waits for it to return.
  std::function<void(const MemorySnapshot&)> first_look = {};
  std::size_t first_events = 1'000'000;
};

/// Returns whether the bytes begin as a pickle does (protocol 2 or later).
bool is_pickle(std::string_view bytes);

/// Blocks. Events take 40 bytes each; of the rest of the file each distinct value is stored once.
/// Throws Error{InvalidInput} when the file is no pickle of plain data or no snapshot,
/// Error{Cancelled} when stopped.
MemorySnapshot import_memory_snapshot(const std::string& path, const SnapshotImportOptions& = {});
MemorySnapshot parse_memory_snapshot(std::string_view bytes, const std::string& source,
                                     const SnapshotImportOptions& = {});

}  // namespace trainyard

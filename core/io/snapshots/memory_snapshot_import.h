// The pickle that torch.cuda.memory._dump_snapshot() writes, read as data: see pickle_reader.h.
#pragma once

#include <functional>
#include <stop_token>
#include <string>
#include <string_view>

#include "core/memory/memory_snapshot.h"

namespace trainyard {

struct SnapshotImportOptions {
  std::stop_token stop = {};
  std::function<void(double)> progress = {};  // of the file, [0, 1]
  /// Called once when so many events are read, with them as the events of device 0, so that a
  /// picture of the beginning can be had while the rest is read; not where fewer are there, where
  /// events have no times, or where the times say that they are those of several devices. Reading
  /// waits for it.
  std::function<void(const MemorySnapshot&)> first_look = {};
  std::size_t first_events = 1'000'000;
};

/// Whether the bytes begin as a pickle does (protocol 2 or later).
bool is_pickle(std::string_view bytes);

/// Blocks; events are kept at 40 bytes each, the rest of the file as it is told apart. Throws
/// Error{InvalidInput} when it is no pickle of plain data or no snapshot, Error{Cancelled}.
MemorySnapshot import_memory_snapshot(const std::string& path, const SnapshotImportOptions& = {});
MemorySnapshot parse_memory_snapshot(std::string_view bytes, const std::string& source,
                                     const SnapshotImportOptions& = {});

}  // namespace trainyard

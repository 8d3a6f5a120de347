// The list of all backends that a user may name. What is made of other backends (check.h,
// recording.h, replay.h) is not in it, because it has no meaning alone.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "backends/backend.h"
#include "backends/cpu/cpu_run.h"

namespace trainyard {

struct BackendEntry {
  std::string_view name;     // "cpu"
  std::string_view summary;  // one sentence
  std::string_view needs;    // what the job must hold, in words
  bool trains = false;       // it needs training and data, and answers with losses and parameters
  bool measures = false;     // it answers with a timeline
  /// Everything about the job that it cannot run, each with the reason. Allocates nothing.
  Diagnostics (*check)(const BackendJob&) = nullptr;
  /// Makes the backend ready to run. Throws Error{InvalidInput} with all that check() finds wrong.
  /// The options are those of execution on this machine; a backend takes what concerns it.
  std::unique_ptr<Backend> (*open)(const BackendJob&, const CpuOptions&) = nullptr;
};

std::span<const BackendEntry> backends();

/// Returns whether the backend of that name trains over several processes: "mpi" and "processes",
/// which differ in who started these and connects them.
bool over_processes(std::string_view name);

/// A backend that trains, by name. Throws Error{InvalidInput} at the place: with the nearest name
/// where there is none, and with the reason where it trains nothing.
const BackendEntry& training_backend(std::string_view name, const Place&);

}  // namespace trainyard

// A checkpoint of a plan takes bytes, and time to save and to load. It holds weights and the
// optimizer's state as devices hold them, each byte written once and shared by all that hold it, as
// PyTorch's distributed checkpoints and Megatron-LM's fully parallel saves do. What each replica
// has of its own, as the residuals of compressed gradients, is written for each. Pipelines drain
// before they save, so that of stashed weights only the newest version is saved.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/units.h"
#include "core/lowering/workload.h"
#include "core/result/result.h"

namespace trainyard {

struct CheckpointBytes {
  Bytes weights{}, optimizer{};  // of the whole training, each byte once
  Bytes written{};               // by the device that writes most
  Bytes read{};                  // by the device that reads most: all that it holds
  Bytes held{};                  // by all devices, each its own
  Bytes total() const { return weights + optimizer; }
};
/// The result is that of the workload. Gradients, activations and the data cursor are not saved, or
/// are nothing beside it.
CheckpointBytes checkpoint_bytes(const Workload&, const Result&);

enum class Recovery : std::uint8_t {
  Full,          // training stands still until storage has the checkpoint
  Asynchronous,  // it stands still while state is copied to the host; storage takes it meanwhile
  Peers,         // the same, but a peer node's memory takes it: GEMINI (Wang et al., SOSP 2023)
  Partial,       // a failure takes back its own shard of embedding tables alone: CPR (MLSys 2021)
};
std::string_view to_string(Recovery);  // "asynchronous"

/// Where checkpoints go. The rate of all nodes together is limited by `all` too.
struct Storage {
  BytesPerSecond node{1e9}, all{2e12};
  friend bool operator==(const Storage&, const Storage&) = default;
};
/// From where the usual rates are, as one sentence.
extern const std::string_view kStorageSource;

struct CheckpointTimes {
  double blocking = 0;  // seconds in which training stands still for one save
  double flush = 0;     // seconds after these until the save can be read
  double load = 0;      // seconds until every device has its state again
};
/// Throws Error{Unsupported} at "recovery" where the model has no embedding tables for a partial
/// one, where the cluster states no link to the host for a copy to it, and where peers are asked of
/// a cluster of one node.
CheckpointTimes checkpoint_times(const CheckpointBytes&, const Scenario&, const Storage&, Recovery);

}  // namespace trainyard

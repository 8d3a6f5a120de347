// A checkpoint is all that a run needs to go on to the same bits: weights, optimizer state, loss
// scale, position in the data. One file, written beside the old one and put in its place at once:
// whatever happens, there is a whole one.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/training/loss_scaler.h"

namespace trainyard {

/// One piece of state of one device: "weights of stage 2, peer 1".
struct CheckpointPart {
  std::string name;
  std::string content;  // raw bytes
};

struct Checkpoint {
  std::uint64_t program = 0;  // digest of what was run: plan and model
  std::string scenario;       // in words, for the sentence when it does not fit
  std::int64_t step = 0;      // updates done
  std::uint64_t seed = 0;
  LossScaler::State scaler{};
  std::vector<double> losses;  // by step, so that curves go on
  std::vector<CheckpointPart> parts;
};

/// Every byte is covered by a digest in the file. Blocks; returns once it is on the disk. Throws
/// Error{Io}; the old file is then whole. A process that is killed meanwhile leaves PATH.new beside
/// it, which the next save overwrites.
void save(const Checkpoint&, const std::string& path);
/// Throws Error{InvalidInput} saying what is wrong: not there, not a checkpoint, another version,
/// cut off, damaged (which part).
Checkpoint load_checkpoint(const std::string& path);
/// The bytes of the file, and back. `path` is what a sentence calls it.
std::string to_bytes(const Checkpoint&);
Checkpoint parse_checkpoint(std::string_view bytes, const std::string& path);
/// Whether it is of that program. Throws Error{InvalidInput} with both in words.
void expect_same(const Checkpoint&, std::uint64_t program, std::string_view scenario,
                 const std::string& path);

}  // namespace trainyard

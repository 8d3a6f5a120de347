// A checkpoint is all that a run needs to continue with the same bits: weights, optimizer state,
// loss scale, position in the data. It is one file, replaced as a whole
// (core/io/bytes/file_writer.h), so that a complete one exists at any time.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/training/loss_scaler.h"

namespace trainyard {

/// A CheckpointPart is one piece of state of one device: "weights of stage 2, peer 1".
struct CheckpointPart {
  std::string name;
  std::string content;  // raw bytes
};

struct Checkpoint {
  std::uint64_t program = 0;  // digest of what was run: plan and model
  std::string scenario;       // the scenario in words, for the message when it does not match
  std::int64_t step = 0;      // updates done
  std::uint64_t seed = 0;
  LossScaler::State scaler{};
  std::vector<double> losses;  // by step, so that curves continue
  std::vector<CheckpointPart> parts;
};

/// A digest in the file covers every byte. Blocks and returns once the file is on the disk. Throws
/// as write_file_atomically() does.
void save(const Checkpoint&, const std::string& path);
/// Throws Error{InvalidInput} saying what is wrong: missing, no checkpoint, another version, cut
/// off, damaged (which part).
Checkpoint load_checkpoint(const std::string& path);
/// These convert to the bytes of the file and back. `path` is the name used in messages.
std::string to_bytes(const Checkpoint&);
Checkpoint parse_checkpoint(std::string_view bytes, const std::string& path);
/// Checks that the checkpoint is of that program. Throws Error{InvalidInput} with both in words.
void expect_same(const Checkpoint&, std::uint64_t program, std::string_view scenario,
                 const std::string& path);

}  // namespace trainyard

// A checkpoint is all that a run needs to continue with the same bits: weights, optimizer state,
// loss scale, position in the data. It is one file, replaced as a whole
// (core/io/bytes/file_writer.h), so that a complete one exists at any time.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/training/data_source.h"
#include "core/training/loss_scaler.h"
#include "core/training/training.h"

namespace trainyard {

/// A CheckpointPart is one piece of state of one device: "weights of stage 2, peer 1".
struct CheckpointPart {
  std::string name;
  std::string content;  // raw bytes
};

/// A CheckpointSetting is one setting of training that steps depend on: "rate" and "0.1".
struct CheckpointSetting {
  std::string key, value;
  friend bool operator==(const CheckpointSetting&, const CheckpointSetting&) = default;
};
/// Returns every training_keys() that steps depend on and "data". The number of steps is one only
/// where the rate's schedule ends with them.
std::vector<CheckpointSetting> checkpoint_settings(const Training&, const DataSource&);

struct Checkpoint {
  std::uint64_t program = 0;  // digest of what was run: plan and model
  std::string scenario;       // the scenario in words, for the message when it does not match
  std::int64_t step = 0;      // updates done
  std::uint64_t seed = 0;
  LossScaler::State scaler{};
  std::vector<double> losses;  // by step, so that curves continue
  std::vector<CheckpointPart> parts;
  std::vector<CheckpointSetting> settings;  // empty: version 1 of the file, which does not know
                                            // them
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
/// Checks that a run of so many steps with these settings goes on as the checkpoint's would have.
/// Throws Error{InvalidInput} with what differs, and with the flags that go on from it.
void expect_same_training(const Checkpoint&, const std::vector<CheckpointSetting>&,
                          std::int64_t steps, const std::string& path);
/// Checks that the checkpoint is of that program. Throws Error{InvalidInput} with both in words.
void expect_same(const Checkpoint&, std::uint64_t program, std::string_view scenario,
                 const std::string& path);

}  // namespace trainyard

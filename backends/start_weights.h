// A run may start from the weights of another: of any plan, and of a model that shares some of its
// layers. Optimizer state, position in the data and losses begin anew. A checkpoint has the weights
// once more for this, whole and by name, because its other parts fit one plan alone.
#pragma once

#include <string>
#include <vector>

#include "core/model/model.h"
#include "core/training/checkpoint.h"
#include "core/training/trained_tensor.h"

namespace trainyard {

/// StartedFrom says what a run took from another one's weights. Tensors are named by block and
/// name, as "layers q_proj.weight", once for all layers of a block.
struct StartedFrom {
  std::string file;
  std::int64_t taken = 0;             // tensors, each layer's counted
  std::vector<std::string> fresh;     // not found: they begin as in any run
  std::vector<std::string> reshaped;  // found in another shape: they begin as in any run
  std::vector<std::string> unused;    // in the file, and not of this model

  /// One line for each of the lists that are not empty, without an end of line.
  std::vector<std::string> sentences() const;
};

/// Returns the parts of a checkpoint that hold whole weights. The tensors are those of the model's
/// layers, in any order.
std::vector<CheckpointPart> weight_parts(const Model&, const std::vector<TrainedTensor>&);

/// Returns the tensors that such parts hold, where the model has them.
std::vector<TrainedTensor> tensors_of(const Checkpoint&, const Model&);

struct StartWeights {
  std::vector<TrainedTensor> tensors;  // in the order of the fresh ones
  StartedFrom report;
};
/// Returns the fresh parameters of a model, with those that the checkpoint has in their shape in
/// place of its own. A table that the model shares with another block is that of the other block.
/// A sparse pattern is the same one in another number of digits.
/// Throws Error{InvalidInput} where the checkpoint has no whole weights or none of this model's.
StartWeights start_weights(const Checkpoint&, const Model&, std::vector<TrainedTensor> fresh,
                           const std::string& path);

/// Returns all parameters of a model from a checkpoint file. `fresh`: their shapes. Throws as
/// load_checkpoint() and start_weights() do, and Error{InvalidInput} where it lacks any of them.
std::vector<TrainedTensor> whole_start_weights(const std::string& path, const Model&,
                                               std::vector<TrainedTensor> fresh);

}  // namespace trainyard

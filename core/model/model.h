// A Model is what is trained: named blocks, each a graph with a repeat count, in the order in which
// data flows. It knows nothing of devices, batch or precision.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/graph.h"

namespace trainyard {

/// A Block describes one or more identical layers.
struct Block {
  std::string name;   // "embed_tokens", "layers", "norm", "lm_head"
  int count = 1;      // how many in a row, >= 1
  bool layer = true;  // counts when layers are split over stages; embedding and head blocks are no
                      // layers and join the first and last stage
  Graph graph;
};

struct Model {
  std::string name;    // "llama-3-70b"
  std::string family;  // "llama", "gpt2", "resnet": decides which fields an importer reads
  std::vector<Block> blocks;
  std::int64_t sequence = 1;  // longest sequence that the model was made for and the workload's
                              // default; 1 = it has no sequence
  bool tokens = true;         // throughput is counted in tokens (else samples)
  std::string source;         // where the sizes come from: a file, or the zoo entry's citation
  std::vector<std::string> assumed;  // one sentence for each field that a config left out, naming
                                     // the default that was taken
};

/// Returns the exact count of parameters; tied tensors count once.
std::int64_t parameters(const Model&);
/// Returns how many of the parameters one token uses: of routed experts only top_k count.
std::int64_t active_parameters(const Model&);
/// Returns the parameters of one block, once (not times count); tied tensors are not counted here.
std::int64_t parameters(const Block&);
/// Returns the number of layers that a stage split divides: the sum of count over blocks with layer
/// set.
int layer_count(const Model&);

}  // namespace trainyard

// A Model is what is trained: named blocks, each a graph with a repeat count, in the order data
// flows. It knows nothing of devices, batch or precision.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/graph.h"

namespace trainyard {

/// Identical layers, described once.
struct Block {
  std::string name;   // "embed_tokens", "layers", "norm", "lm_head"
  int count = 1;      // how many in a row, >= 1
  bool layer = true;  // counts when layers are split over stages; embedding and head blocks go with
                      // the first and last
  Graph graph;
};

struct Model {
  std::string name;    // "llama-3-70b"
  std::string family;  // "llama", "gpt2", "resnet": decides which fields an importer reads
  std::vector<Block> blocks;
  std::int64_t sequence = 1;  // longest the model was made for; the workload's default. 1 = has no
                              // sequence
  bool tokens = true;         // throughput is counted in tokens (else samples)
  std::string source;         // where the numbers come from: a file, or the zoo entry's citation
  std::vector<std::string> assumed;  // what a config left out and which default was taken, one
                                     // sentence each
};

/// Exact, tied tensors once.
std::int64_t parameters(const Model&);
/// Of them, those that one token meets: routed experts count top_k of experts.
std::int64_t active_parameters(const Model&);
/// Parameters of one block, once (not times count); tied tensors are not counted here.
std::int64_t parameters(const Block&);
/// Layers that a stage split divides: the sum of count over blocks with layer set.
int layer_count(const Model&);

}  // namespace trainyard

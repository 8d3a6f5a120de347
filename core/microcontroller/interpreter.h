// Runs an IntegerNetwork as the exported C program does, to the bit, in memory that the caller
// gives: nothing is allocated.
#pragma once

#include <cstdint>
#include <span>

#include "core/microcontroller/integer_network.h"

namespace trainyard {

/// Where one layer reads and writes.
struct LayerMemory {
  const std::int8_t* input = nullptr;
  const std::int8_t* other = nullptr;  // the second input of a sum; else null
  std::int8_t* output = nullptr;
};

/// Runs one layer of the network alone.
void run_layer(const IntegerNetwork&, const IntegerLayer&, const LayerMemory&);
/// Returns where a layer of the network reads and writes.
LayerMemory layer_memory(const IntegerNetwork&, const IntegerLayer&, const std::int8_t* input,
                         std::int8_t* output, std::int8_t* arena);

/// Runs all layers. input and output: as many numbers as those tensors have, images with channels
/// fastest. Returns false, and writes nothing, where the arena is smaller than the network's.
/// Reentrant.
bool run_network(const IntegerNetwork&, std::span<const std::int8_t> input,
                 std::span<std::int8_t> output, std::span<std::int8_t> arena);

}  // namespace trainyard

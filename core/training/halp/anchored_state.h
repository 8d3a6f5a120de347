// Where HALP keeps what it knows of one tensor, for its rule and for passes that read the anchor.
#pragma once

#include <cstdint>
#include <span>

namespace trainyard {

/// The parts of the state that tensor_state_bytes() counts for "halp", which lies at a multiple of
/// four bytes: the anchor, the full gradient, the step of the grid and the offsets, in this order.
struct AnchoredState {
  AnchoredState(void* state, std::int64_t elements, int bits);
  float* anchor;
  float* full_gradient;
  float* step;
  std::span<std::uint32_t> offsets;  // packed (core/training/halp/halp.h)
};

}  // namespace trainyard

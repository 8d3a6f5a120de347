// The parts of an exported C program that are the same for every network: its arithmetic, and a
// kernel for each op. Only those that a network needs are written, because C compilers warn of
// functions that nobody calls.
#pragma once

#include <string_view>

#include "core/microcontroller/float_network.h"

namespace trainyard {

/// Types and functions that all kernels use. `struct layer` has what one layer needs.
std::string_view c_prelude();
/// The name of the function for an op: "run_convolution".
std::string_view c_kernel_name(MicroOp);
/// That function, whose signature is (const struct layer *, const int8_t *, const int8_t *, int8_t
/// *).
std::string_view c_kernel(MicroOp);
/// Needed by every op that has a factor: fixed-point rounding and the clamp.
std::string_view c_rounding();
/// Needed by every op with windows.
std::string_view c_windows();

}  // namespace trainyard

// The kernels that a profiler recorded, matched to the work that a plan predicts. A kernel's name
// tells what kind of work it is ("sm90_xmma_gemm_bf16..." is a product) and seldom which node it is
// of, so nodes of one kind are held against the kernels of that kind together, and names that say
// nothing are listed. A recording of the plan's own run calls its spans as the plan calls its
// nodes, with the microbatch behind: "mlp.c_fc 3".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result/roofline_points.h"
#include "core/timeline/recorded_trace.h"

namespace trainyard {

enum class KernelFamily : std::uint8_t {
  Product,
  Attention,
  Elementwise,
  Gather,
  Loss,
  Optimizer,
  Communication,
};
inline constexpr std::size_t kKernelFamilies =
    static_cast<std::size_t>(KernelFamily::Communication) + 1;
/// "products", "communication".
const char* to_string(KernelFamily);
/// What the name of a device's kernel tells; nothing where it tells nothing. NVIDIA's libraries,
/// PyTorch's own kernels, Triton's as Inductor calls them, NCCL and RCCL.
std::optional<KernelFamily> family_of_kernel(std::string_view name);

/// All spans of one name on the streams of a recording.
struct RecordedKernel {
  std::string name;
  RecordedKind kind = RecordedKind::Forward;
  Duration time{};
  std::int64_t count = 0;
};

/// A kind of work of one step on one device.
struct MatchedFamily {
  KernelFamily family = KernelFamily::Product;
  std::vector<std::string> nodes;    // of the plan, most time first
  std::vector<std::string> kernels;  // of the recording, most time first
  Duration measured{}, predicted{};
  std::optional<Duration> held_out;  // predicted, times the middle ratio of the other families
  std::int64_t measured_calls = 0;
};
struct UnmatchedWork {
  std::string name;  // a kernel's, or a node's
  std::string why;
  Duration time{};  // of one step on one device
  std::int64_t count = 0;
};
struct TraceMatch {
  std::vector<MatchedFamily> families;  // in the order of the enumeration
  std::vector<UnmatchedWork> kernels;   // that no work of the plan answers to, most time first
  std::vector<UnmatchedWork> nodes;     // whose kind no kernel of the recording is
  double matched = 0;                   // share of the kernels' time, [0, 1]
};
/// steps, devices: that the recording's kernels are of, together; ranks: that the roofline is of.
/// Each at least 1. Copies between host and device are no kernels and are left out.
TraceMatch match_trace(const std::vector<RecordedKernel>&, std::int64_t steps, std::int64_t devices,
                       const Roofline&, std::int64_t ranks);

}  // namespace trainyard

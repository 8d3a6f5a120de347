// This file matches the kernels that a profiler recorded to the work that a plan predicts. A
// kernel's name says what kind of work it does ("sm90_xmma_gemm_bf16..." is a product) but rarely
// for which node. So the nodes of one kind are compared with all kernels of that kind, and names
// that reveal no kind are listed. A recording of the plan's own run names its spans like the plan's
// nodes, followed by the microbatch: "mlp.c_fc 3".
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
/// Returns "products", "communication".
const char* to_string(KernelFamily);
/// Returns what the name of a device's kernel says; nothing where it says nothing. It knows
/// NVIDIA's libraries, PyTorch's own kernels, Triton's as Inductor names them, NCCL and RCCL.
std::optional<KernelFamily> family_of_kernel(std::string_view name);

KernelFamily family_of_work(WorkKind);

/// A RecordedKernel is all spans of one name on the streams of a recording.
struct RecordedKernel {
  std::string name;
  RecordedKind kind = RecordedKind::Forward;
  Duration time{};
  std::int64_t count = 0;
};

/// A MatchedFamily is a kind of work of one step on one device.
struct MatchedFamily {
  KernelFamily family = KernelFamily::Product;
  std::vector<std::string> nodes;    // of the plan, most time first
  std::vector<std::string> kernels;  // of the recording, most time first
  Duration measured{}, predicted{};
  std::optional<Duration> held_out;  // predicted time times the median ratio of the other families
  std::int64_t measured_calls = 0;
};
struct UnmatchedWork {
  std::string name;  // of a kernel or a node
  std::string why;
  Duration time{};  // of one step on one device
  std::int64_t count = 0;
};
struct TraceMatch {
  std::vector<MatchedFamily> families;  // in the order of the enumeration
  std::vector<UnmatchedWork> kernels;   // kernels that match no work of the plan, most time first
  std::vector<UnmatchedWork> nodes;     // nodes whose kind no kernel of the recording has
  double matched = 0;                   // share of the kernels' time, in [0, 1]
};
/// steps and devices are those of the recording's kernels in total; ranks are those of the
/// roofline. Each is at least 1. Copies between host and device are no kernels and are left out.
TraceMatch match_trace(const std::vector<RecordedKernel>&, std::int64_t steps, std::int64_t devices,
                       const Roofline&, std::int64_t ranks);

}  // namespace trainyard

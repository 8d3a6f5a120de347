// Software is what a plan runs on beside its hardware: the training framework, how it fuses
// memory-bound operators, and its attention kernel. Published runs show that these change the step
// time more than most refinements of a kernel's cost do, so for a plan that leaves one open every
// number says so.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/cluster/device.h"

namespace trainyard {

enum class KernelClass : std::uint8_t {
  Eager,     // every operator is a kernel of its own (PyTorch without a compiler)
  Compiled,  // a compiler fuses chains (torch.compile, XLA)
  Fused,     // kernels fused by hand (Megatron, Transformer Engine)
};

/// The fused attention kernel that runs where a plan has fused attention.
enum class AttentionKernel : std::uint8_t { Triton, Flash2, Cudnn };

/// TensorOverlap says which tensor parallel communication runs concurrently with the products that
/// it belongs to.
enum class TensorOverlap : std::uint8_t {
  None,
  Backward,  // under sequence parallel, the second gather of backward overlaps the product that
             // does not need it (Korthikanti et al. 2022)
  All,  // all other communication too, cut into as many pieces as there are ranks (Wang et al.,
        // ASPLOS 2023)
};

/// The software as a plan states it; "" = not stated.
struct Software {
  std::string framework;  // a name of frameworks(): "megatron"
  std::string kernels;    // "eager", "compiled", "fused"
  std::string attention;  // "triton", "flash-2", "cudnn"
  std::string graphs;     // "on", "off": the host replays whole layers that were recorded once
  std::string release;    // "2026-02": the month of the framework's release
  friend bool operator==(const Software&, const Software&) = default;
};

/// A FrameworkProfile holds a framework's defaults.
struct FrameworkProfile {
  std::string_view name, summary;
  KernelClass kernels = KernelClass::Eager;
  AttentionKernel attention = AttentionKernel::Flash2;
  bool fused_attention = true;     // attention is fused by default
  bool fused_softmax = true;       // mask, softmax and dropout of unfused attention are one kernel
  bool overlaps_gradients = true;  // reduces gradients during backward
  bool overlaps_weights = true;    // gathers weights during computation
  TensorOverlap overlaps_tensor = TensorOverlap::None;
  bool blocking_sends = false;   // a stage computes on only when its message has been sent
  bool scatters_sends = false;   // each tensor parallel rank sends a part of a tensor that all of
                                 // them hold
  bool distinct_tokens = false;  // a routed token travels once to each rank (over the network: once
                                 // to each node) that holds any of its experts, not once per expert
  bool splits_by_cost = false;   // when the plan does not say, divides layers over stages by the
                                 // cost of their products, the head's included, instead of evenly
};
/// The first profile, "typical", is used where a plan names none.
std::span<const FrameworkProfile> frameworks();
/// The empty name gives "typical". Throws Error{InvalidInput} with the nearest name.
const FrameworkProfile& framework(std::string_view name);

std::string_view to_string(KernelClass);
std::string_view to_string(AttentionKernel);
/// Both throw Error{InvalidInput} with the nearest word.
KernelClass parse_kernel_class(std::string_view);
AttentionKernel parse_attention_kernel(std::string_view);
/// Returns the months from January 2000 to a release, which is a year from 2015 to 2035 and a month
/// as "2026-02". Throws Error{InvalidInput}.
int release_month(std::string_view release);
/// The month of release for which prices hold where a plan states none.
inline constexpr std::string_view kUsualRelease = "2025-09";

/// SettledSoftware has every choice made: the plan's where it states one, else the framework's
/// default; cuDNN's attention where the device is newer than those for which FlashAttention 2 was
/// written.
struct SettledSoftware {
  const FrameworkProfile* framework = nullptr;
  KernelClass kernels = KernelClass::Eager;
  AttentionKernel attention = AttentionKernel::Flash2;
  bool graphs = false;
  bool counts_on_host = true;  // the host reads how many tokens each expert has
  double years = 0;            // of the release after kUsualRelease
};
SettledSoftware settle(const Software&, const Device&);

}  // namespace trainyard

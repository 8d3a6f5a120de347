// What a plan runs on beside its hardware: the training framework, how it fuses memory-bound
// operators, and its attention kernel. Published runs show that these move a step by more than most
// refinements of a kernel's cost do, so a plan that leaves one open says so with every number.
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

/// Which fused attention runs where a plan has fused attention.
enum class AttentionKernel : std::uint8_t { Triton, Flash2, Cudnn };

/// Which tensor parallel traffic runs beside the products that it belongs to.
enum class TensorOverlap : std::uint8_t {
  None,
  Backward,  // under sequence parallel, the second gather of backward beside the product that does
             // not need it (Korthikanti et al. 2022)
  All,       // and every other in as many pieces as ranks (Wang et al., ASPLOS 2023)
};

/// As a plan writes it; "" = not stated.
struct Software {
  std::string framework;  // of frameworks(): "megatron"
  std::string kernels;    // "eager", "compiled", "fused"
  std::string attention;  // "triton", "flash-2", "cudnn"
  friend bool operator==(const Software&, const Software&) = default;
};

/// What a framework does when it is not told otherwise.
struct FrameworkProfile {
  std::string_view name, summary;
  KernelClass kernels = KernelClass::Eager;
  AttentionKernel attention = AttentionKernel::Flash2;
  bool fused_attention = true;     // fused at all
  bool fused_softmax = true;       // mask, softmax and dropout of unfused attention are one kernel
  bool overlaps_gradients = true;  // reduces gradients beside backward
  bool overlaps_weights = true;    // gathers weights beside computation
  TensorOverlap overlaps_tensor = TensorOverlap::None;
  bool blocking_sends = false;   // a stage computes on when its message has left
  bool scatters_sends = false;   // tensor parallel ranks send a part each of what all hold
  bool distinct_tokens = false;  // a routed token travels once to each rank (over the network: once
                                 // to each node) that holds experts of it, not once an expert
  bool splits_by_cost = false;   // layers over stages by their products, the head's included; else
                                 // a plan that does not say has them divide evenly
};
/// The first is taken where a plan does not say: "typical".
std::span<const FrameworkProfile> frameworks();
/// "" gives "typical". Throws Error{InvalidInput} with the nearest name.
const FrameworkProfile& framework(std::string_view name);

std::string_view to_string(KernelClass);
std::string_view to_string(AttentionKernel);
/// Throw Error{InvalidInput} with the nearest word.
KernelClass parse_kernel_class(std::string_view);
AttentionKernel parse_attention_kernel(std::string_view);

/// Everything settled: what the plan says, else what its framework does; cuDNN's attention where
/// the device is newer than FlashAttention 2's.
struct SettledSoftware {
  const FrameworkProfile* framework = nullptr;
  KernelClass kernels = KernelClass::Eager;
  AttentionKernel attention = AttentionKernel::Flash2;
};
SettledSoftware settle(const Software&, const Device&);

}  // namespace trainyard

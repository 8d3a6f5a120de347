#include "core/cost/process_memory.h"

#include <cmath>

namespace trainyard {
namespace {

using P = Parameter;

// What a process of PyTorch without a communicator held beside its allocator: 0.73 to 0.77 GiB in
// 98 runs on an H100 (assets/validation/one-device.csv).
constexpr Bytes kBareContext = 768_MiB;

// Eager cross entropy of logits cast to 4 bytes keeps their log-softmax, and its backward makes the
// gradient of that and that of the logits. A compiler fuses them.
constexpr double kEagerLogit = 12;

// Returns the parameter that holds a framework's context; Fragmentation stands for the device's own
// context.
P context_of(std::string_view framework) {
  if (framework == "megatron" || framework == "megatron-core") return P::ContextMegatron;
  if (framework == "deepspeed" || framework == "megatron-deepspeed") return P::ContextDeepspeed;
  if (framework == "fsdp" || framework == "torchtitan") return P::ContextFsdp;
  if (framework == "nanotron") return P::ContextNanotron;
  return P::Fragmentation;
}

}  // namespace

ProcessMemory plain_process(const Device& device) {
  ProcessMemory plain;
  plain.context = device.context.value;
  return plain;
}

ProcessMemory framework_process(const SettledSoftware& software, const Device& device,
                                const Parameters& p) {
  ProcessMemory process = plain_process(device);
  if (software.framework == nullptr || software.framework->name == "typical" ||
      device.context.value.value == 0)
    return process;
  constexpr double kGiB = 1024.0 * 1024.0 * 1024.0;
  if (const P context = context_of(software.framework->name); context != P::Fragmentation)
    process.context = Bytes{std::llround(p[context] * kGiB)};
  process.fragmentation = p[P::Fragmentation];
  process.logit_bytes = p[P::LogitBytes];
  if (software.framework->name == "pytorch") {
    process.context = kBareContext;
    process.logit_bytes = software.kernels == KernelClass::Eager ? kEagerLogit : 0;
  }
  process.gathered_blocks = p[P::GatheredInputs];
  process.pressure_onset = p[P::PressureOnset];
  process.pressure_slope = p[P::PressureSlope];
  return process;
}

}  // namespace trainyard

#include "core/plan/software.h"

#include <vector>

#include "core/base/error.h"
#include "core/base/nearest.h"

namespace trainyard {
namespace {

using K = KernelClass;
using A = AttentionKernel;
using T = TensorOverlap;

constexpr FrameworkProfile kFrameworks[] = {
    {"typical", "no framework named: fused kernels, traffic beside computation", K::Fused,
     A::Flash2, true, true, true, true, T::Backward},
    {"megatron", "Megatron-LM of 2021 to 2023", K::Fused, A::Flash2, false, true, false, false,
     T::None, true, true},
    {"megatron-deepspeed", "Megatron-LM's layers in DeepSpeed's pipeline engine", K::Fused,
     A::Flash2, false, true, false, false, T::None, true, true},
    {"megatron-core", "Megatron-Core, NeMo, Megatron-Bridge: Transformer Engine's kernels",
     K::Fused, A::Cudnn, true, true, true, true, T::All, false, true, true},
    {"deepspeed", "DeepSpeed over PyTorch modules", K::Eager, A::Flash2, false, false, true, true,
     T::None, true},
    {"fsdp", "PyTorch FSDP over eager modules (llm-foundry)", K::Eager, A::Triton},
    {"torchtitan", "FSDP2 with torch.compile", K::Compiled, A::Flash2},
    {"nanotron", "nanotron: eager modules with fused attention", K::Eager, A::Flash2, true, true,
     true, false, T::Backward, true, false, false, true},
    {"maxtext", "JAX, compiled by XLA", K::Compiled, A::Flash2},
    {"pytorch", "PyTorch modules in a loop of one's own, mixed precision by autocast", K::Eager,
     A::Flash2, true, false},
};

constexpr std::string_view kKernelWords[] = {"eager", "compiled", "fused"};
constexpr std::string_view kAttentionWords[] = {"triton", "flash-2", "cudnn"};

std::size_t position(std::string_view word, std::span<const std::string_view> words,
                     const char* what) {
  for (std::size_t i = 0; i < words.size(); ++i)
    if (words[i] == word) return i;
  throw Error(Error::Kind::InvalidInput, std::string("expected ") + what + ", found \"" +
                                             std::string(word) + "\"" + did_you_mean(word, words));
}

}  // namespace

std::span<const FrameworkProfile> frameworks() { return kFrameworks; }

const FrameworkProfile& framework(std::string_view name) {
  if (name.empty()) return kFrameworks[0];
  std::vector<std::string_view> names;
  for (const FrameworkProfile& f : kFrameworks) names.push_back(f.name);
  return kFrameworks[position(name, names, "a framework")];
}

std::string_view to_string(KernelClass k) { return kKernelWords[static_cast<std::size_t>(k)]; }
std::string_view to_string(AttentionKernel a) {
  return kAttentionWords[static_cast<std::size_t>(a)];
}
KernelClass parse_kernel_class(std::string_view word) {
  return static_cast<KernelClass>(position(word, kKernelWords, "eager, compiled or fused kernels"));
}
AttentionKernel parse_attention_kernel(std::string_view word) {
  return static_cast<AttentionKernel>(position(word, kAttentionWords, "an attention kernel"));
}

int release_month(std::string_view release) {
  const auto digits = [&](std::size_t at, std::size_t count) {
    int number = 0;
    for (std::size_t i = at; i < at + count; ++i)
      number = release[i] >= '0' && release[i] <= '9' ? 10 * number + (release[i] - '0') : 10'000;
    return number;
  };
  if (release.size() == 7 && release[4] == '-') {
    const int year = digits(0, 4), month = digits(5, 2);
    if (year >= 2015 && year <= 2035 && month >= 1 && month <= 12)
      return 12 * (year - 2000) + month - 1;
  }
  throw Error(Error::Kind::InvalidInput,
              "expected the year and month of a release, from 2015-01 to 2035-12, found \"" +
                  std::string(release) + "\"; nearest: \"" + std::string(kUsualRelease) + "\"");
}

SettledSoftware settle(const Software& software, const Device& device) {
  SettledSoftware settled;
  settled.framework = &framework(software.framework);
  settled.kernels =
      software.kernels.empty() ? settled.framework->kernels : parse_kernel_class(software.kernels);
  settled.attention = software.attention.empty() ? settled.framework->attention
                                                 : parse_attention_kernel(software.attention);
  // No FlashAttention 2 or Triton kernel was written for devices after Hopper.
  if (software.attention.empty() && device.year >= 2024 && settled.framework->fused_attention)
    settled.attention = AttentionKernel::Cudnn;
  settled.graphs = software.graphs == "on";
  if (!software.release.empty())
    settled.years = (release_month(software.release) - release_month(kUsualRelease)) / 12.0;
  return settled;
}

}  // namespace trainyard

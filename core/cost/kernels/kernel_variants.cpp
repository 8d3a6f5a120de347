#include "core/cost/kernels/kernel_variants.h"

#include <fmt/format.h>

#include <array>
#include <atomic>

namespace trainyard {
namespace {

constexpr std::string_view kProductVariants[] = {"primitive", "gemm", "tiles"};
constexpr std::string_view kConvolutionVariants[] = {"blocked", "plain", "winograd"};
constexpr std::string_view kProductSizes[] = {"m",    "n",   "k", "a transposed", "b transposed",
                                              "adds", "bias"};
constexpr std::string_view kConvolutionSizes[] = {
    "pass",          "images",       "channels", "height", "width",  "output channels",
    "output height", "output width", "kernel",   "stride", "padding"};

}  // namespace

std::string_view to_string(VariantKernel kernel) {
  return kernel == VariantKernel::Product ? "product" : "convolution";
}

std::span<const std::string_view> variant_names(VariantKernel kernel) {
  if (kernel == VariantKernel::Product) return kProductVariants;
  return kConvolutionVariants;
}

std::span<const std::string_view> shape_names(VariantKernel kernel) {
  if (kernel == VariantKernel::Product) return kProductSizes;
  static_assert(std::size(kConvolutionSizes) == kMostShapeSizes);
  return kConvolutionSizes;
}

bool has_variant(const KernelShape& shape, int variant) {
  const auto& s = shape.sizes;
  if (variant < 0 || variant >= static_cast<int>(variant_names(shape.kernel).size())) return false;
  if (shape.kernel == VariantKernel::Product) return variant != kProductTiles || s[1] % 16 == 0;
  return variant != kConvolutionWinograd || (s[8] == 3 && s[9] == 1 && s[10] == 1);
}

std::string shape_words(const KernelShape& shape) {
  const auto& s = shape.sizes;
  if (shape.kernel == VariantKernel::Product)
    return fmt::format("{} x {} x {}{}{}", s[0], s[1], s[2], s[3] != 0 ? ", first transposed" : "",
                       s[4] != 0 ? ", second transposed" : "");
  constexpr std::string_view kPasses[] = {"forward", "of its input", "of its weight"};
  return fmt::format("{} x {}, {} to {} channels, {} of {} x {}, {}", s[8], s[8], s[2], s[5], s[1],
                     s[3], s[4], kPasses[s[0] < 3 ? s[0] : 0]);
}

double flops_of(const KernelShape& shape) {
  const auto of = [&](std::size_t i) { return static_cast<double>(shape.sizes[i]); };
  if (shape.kernel == VariantKernel::Product) return 2 * of(0) * of(1) * of(2);
  return 2 * of(1) * of(2) * of(5) * of(6) * of(7) * of(8) * of(8);
}

VariantChooser::VariantChooser() {
  static std::atomic<std::uint64_t> choosers = 0;
  serial_ = ++choosers;
}

int VariantChooser::chosen(const KernelShape& shape, int usual) const {
  struct Answer {
    std::uint64_t chooser = 0;
    int usual = 0, variant = 0;
    KernelShape shape;
  };
  constexpr std::size_t kAnswers = 512;
  thread_local std::array<Answer, kAnswers> answers;
  std::uint64_t hash = serial_;
  for (const std::int64_t size : shape.sizes)
    hash = (hash ^ static_cast<std::uint64_t>(size)) * 0x9e3779b97f4a7c15ULL;
  Answer& answer = answers[(hash >> 32) % kAnswers];
  if (answer.chooser != serial_ || answer.usual != usual || answer.shape != shape)
    answer = {serial_, usual, choose(shape, usual), shape};
  return answer.variant;
}

int VariantTiming::best() const {
  int best = usual;
  for (int v = 0; v < static_cast<int>(times.size()); ++v) {
    const Duration time = times[static_cast<std::size_t>(v)];
    if (time > Duration{} && time < times[static_cast<std::size_t>(best)]) best = v;
  }
  return best;
}

Duration VariantTiming::usual_loses() const {
  return times[static_cast<std::size_t>(usual)] - times[static_cast<std::size_t>(best())];
}

}  // namespace trainyard

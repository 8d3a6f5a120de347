// Kernel variants are ways to compute one kernel that give the same sums, up to their rounding, and
// take different times. What is asked of the kernel is its KernelShape; a VariantChooser says which
// way it goes.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/units.h"

namespace trainyard {

enum class VariantKernel : std::uint8_t { Product, Convolution };
inline constexpr VariantKernel kVariantKernels[] = {VariantKernel::Product,
                                                    VariantKernel::Convolution};
std::string_view to_string(VariantKernel);  // "product", "convolution"

/// Variants of a product in 4-byte floats: oneDNN's matmul primitive, its GEMM, and the tiles that
/// attention uses, with the second matrix copied to panels of 32 columns.
inline constexpr int kProductPrimitive = 0, kProductGemm = 1, kProductTiles = 2;
/// Variants of a convolution in 4-byte floats: oneDNN's direct one in blocks of channels, the same
/// without blocks, and Winograd's, which rounds more: steps of resnet-20 by momentum have its
/// losses within 1e-7, 1e-6 and 2e-5 of the usual ones in the second, third and fourth.
inline constexpr int kConvolutionBlocked = 0, kConvolutionPlain = 1, kConvolutionWinograd = 2;

/// The names of a kernel's variants, by variant.
std::span<const std::string_view> variant_names(VariantKernel);
/// The names of the sizes of its shapes.
std::span<const std::string_view> shape_names(VariantKernel);

inline constexpr std::size_t kMostShapeSizes = 11;

struct KernelShape {
  VariantKernel kernel = VariantKernel::Product;
  // As shape_names() says, all at least 0; the rest are 0.
  std::array<std::int64_t, kMostShapeSizes> sizes{};
  auto operator<=>(const KernelShape&) const = default;
};
/// Returns whether the kernel can be computed so.
bool has_variant(const KernelShape&, int variant);
/// "512 x 64 x 128, of a transposed matrix", "3x3 of 16 channels to 32, 8 images of 32 x 32".
std::string shape_words(const KernelShape&);
/// The floating-point operations of a shape, counted as for a direct computation.
double flops_of(const KernelShape&);

/// A VariantTiming is what each variant of a kernel took at a shape, alone on a core whose caches
/// hold one operand and not the kernel's code.
struct VariantTiming {
  KernelShape shape;
  int usual = 0;                 // the variant where nobody chooses
  std::vector<Duration> times;   // by variant; 0 = it does not exist at this shape
  int best() const;              // one of the fastest: the usual one, if it is, else the first
  Duration usual_loses() const;  // how much longer than the best the usual one takes
};

class VariantChooser {
 public:
  VariantChooser();
  VariantChooser(const VariantChooser&) = delete;
  VariantChooser& operator=(const VariantChooser&) = delete;
  virtual ~VariantChooser() = default;
  /// Returns a variant that the shape has; `usual` is one. Any thread may ask, and equal questions
  /// get equal answers.
  virtual int choose(const KernelShape&, int usual) const = 0;
  /// Returns what choose() does. Each thread remembers answers, as every kernel asks in every step.
  int chosen(const KernelShape&, int usual) const;

 private:
  std::uint64_t serial_;  // of all choosers of the process, from 1
};

}  // namespace trainyard

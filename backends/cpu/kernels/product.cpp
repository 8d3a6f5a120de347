#include "backends/cpu/kernels/product.h"

#include <algorithm>

#include "backends/cpu/kernels/convert.h"
#include "backends/cpu/kernels/onednn.h"
#include "backends/cpu/kernels/small_product.h"
#include "backends/cpu/kernels/vectorised.h"

namespace trainyard {
namespace {

using dnnl::memory;

memory::desc plain(std::int64_t rows, std::int64_t columns, const Matrix& m) {
  return {{rows, columns},
          onednn::data_type(m.type),
          m.transposed ? memory::format_tag::ba : memory::format_tag::ab};
}

onednn::Prepared make(std::int64_t m, std::int64_t n, std::int64_t k, const Matrix& a,
                      const Matrix& b, const Matrix& bias, const Matrix& c, bool add) {
  dnnl::primitive_attr attributes = onednn::attributes();
  if (add) {
    dnnl::post_ops sum;
    sum.append_sum(1.0F);
    attributes.set_post_ops(sum);
  }
  const memory::desc a_desc = plain(m, k, a), b_desc = plain(k, n, b), c_desc = plain(m, n, c),
                     bias_desc = plain(1, n, bias);
  const dnnl::matmul::primitive_desc desc(
      bias.data != nullptr ? dnnl::matmul::desc(a_desc, b_desc, bias_desc, c_desc)
                           : dnnl::matmul::desc(a_desc, b_desc, c_desc),
      attributes, onednn::engine());
  if (bias.data == nullptr)
    return {dnnl::matmul(desc),
            desc.scratchpad_desc(),
            {{DNNL_ARG_SRC, a_desc}, {DNNL_ARG_WEIGHTS, b_desc}, {DNNL_ARG_DST, c_desc}}};
  return {dnnl::matmul(desc),
          desc.scratchpad_desc(),
          {{DNNL_ARG_SRC, a_desc},
           {DNNL_ARG_WEIGHTS, b_desc},
           {DNNL_ARG_DST, c_desc},
           {DNNL_ARG_BIAS, bias_desc}}};
}

constexpr std::int64_t kPanel = 32;     // columns that two vectors of sixteen floats hold
constexpr std::int64_t kDepth = 256;    // rows of a panel, which fills the first cache together
constexpr std::int64_t kHeight = 96;    // with so many rows of the first matrix
constexpr std::int64_t kColumns = 256;  // of which panels stay in the second cache

// Copies a part of b, which is [k, n], to panels one behind the other, each [depth, its columns].
void copy_panels(std::int64_t n, std::int64_t k, FloatMatrix b, std::int64_t from,
                 std::int64_t depth, std::int64_t column, std::int64_t columns, float* panels) {
  for (std::int64_t j = 0; j < columns; j += kPanel) {
    const std::int64_t width = std::min(kPanel, columns - j);
    float* panel = panels + j * depth;
    if (b.transposed)
      transpose(width, depth, b.data + (column + j) * k + from, k, panel, width);
    else
      give_rows(depth, width, b.data + from * n + column + j, n, panel, width, false);
  }
}

// n is a multiple of sixteen. The order of the sums depends on k alone.
void product_in_tiles(std::int64_t m, std::int64_t n, std::int64_t k, FloatMatrix a, FloatMatrix b,
                      float* c, bool add, Scratch& scratch) {
  const Scratch::Frame frame(scratch);
  float* panels = scratch.floats(std::min(kDepth, k) * std::min(kColumns, n));
  const std::int64_t a_row = a.transposed ? 1 : k, a_column = a.transposed ? m : 1;
  for (std::int64_t column = 0; column < n; column += kColumns)
    for (std::int64_t from = 0; from < k; from += kDepth) {
      const std::int64_t columns = std::min(kColumns, n - column),
                         depth = std::min(kDepth, k - from);
      copy_panels(n, k, b, from, depth, column, columns, panels);
      for (std::int64_t row = 0; row < m; row += kHeight)
        for (std::int64_t j = 0; j < columns; j += kPanel) {
          const std::int64_t width = std::min(kPanel, columns - j);
          small_product(std::min(kHeight, m - row), width, depth,
                        a.data + row * a_row + from * a_column, a_row, a_column, panels + j * depth,
                        width, c + row * n + column + j, n, add || from > 0);
        }
    }
}

// Rows of the bias, to which a product is added.
void begin_with(std::int64_t m, std::int64_t n, const float* bias, bool add, float* c) {
  for (std::int64_t i = 0; i < m; ++i) give_rows(1, n, bias, n, c + i * n, n, add);
}

void run(std::int64_t m, std::int64_t n, std::int64_t k, const Matrix& a, const Matrix& b,
         const Matrix& bias, const Matrix& c, bool add, Scratch& scratch,
         const VariantChooser* chooser) {
  if (a.type == DType::F32 && c.type == DType::F32) {
    const KernelShape shape =
        product_shape(m, n, k, a.transposed, b.transposed, add, bias.data != nullptr);
    int variant = usual_product(shape);
    if (chooser != nullptr) variant = chooser->chosen(shape, variant);
    if (variant != kProductPrimitive) {
      auto* sums = static_cast<float*>(c.data);
      const FloatMatrix first{static_cast<const float*>(a.data), a.transposed},
          second{static_cast<const float*>(b.data), b.transposed};
      if (bias.data != nullptr) begin_with(m, n, static_cast<const float*>(bias.data), add, sums);
      const bool adds = add || bias.data != nullptr;
      if (variant == kProductGemm) return product_of_floats(m, n, k, first, second, sums, adds);
      return product_in_tiles(m, n, k, first, second, sums, adds, scratch);
    }
  }
  const auto format = [](const Matrix& x) {
    return static_cast<std::int64_t>(x.type) * 2 + (x.transposed ? 1 : 0);
  };
  const onednn::Key key = {
      1,          m,         n,         k,
      format(a),  format(b), format(c), bias.data != nullptr ? format(bias) + 1 : 0,
      add ? 1 : 0};
  const auto& prepared =
      onednn::kept<onednn::Prepared>(key, [&] { return make(m, n, k, a, b, bias, c, add); });
  if (bias.data != nullptr)
    prepared.run({a.data, b.data, c.data, bias.data}, scratch);
  else
    prepared.run({a.data, b.data, c.data}, scratch);
}

Matrix in_floats(const Matrix& from, std::int64_t count, Scratch& scratch, bool read = true) {
  if (from.type == DType::F32 || from.data == nullptr) return from;
  float* floats = scratch.floats(count);
  if (read) to_floats(from.data, from.type, floats, count);
  return {floats, DType::F32, from.transposed};
}

// Handles eight rows at once, so that the sums pass through the cache an eighth as often.
TRAINYARD_VECTORISED
void add_rows_of_floats(std::int64_t m, std::int64_t n, const float* a, float* sums) {
  std::int64_t r = 0;
  for (; r + 8 <= m; r += 8) {
    const float* p = a + r * n;
    for (std::int64_t j = 0; j < n; ++j) {
      const float low = (p[j] + p[n + j]) + (p[2 * n + j] + p[3 * n + j]);
      const float high = (p[4 * n + j] + p[5 * n + j]) + (p[6 * n + j] + p[7 * n + j]);
      sums[j] += low + high;
    }
  }
  for (; r < m; ++r)
    for (std::int64_t j = 0; j < n; ++j) sums[j] += a[r * n + j];
}

}  // namespace

void product_of_floats(std::int64_t m, std::int64_t n, std::int64_t k, FloatMatrix a, FloatMatrix b,
                       float* c, bool add) {
  dnnl_sgemm(a.transposed ? 'T' : 'N', b.transposed ? 'T' : 'N', m, n, k, 1.0F, a.data,
             a.transposed ? m : k, b.data, b.transposed ? k : n, add ? 1.0F : 0.0F, c, n);
}

KernelShape product_shape(std::int64_t m, std::int64_t n, std::int64_t k, bool a_transposed,
                          bool b_transposed, bool adds, bool biased) {
  return {VariantKernel::Product,
          {m, n, k, a_transposed ? 1 : 0, b_transposed ? 1 : 0, adds ? 1 : 0, biased ? 1 : 0}};
}

// The faster of two ways to the same sums (measured: 20 % for 256 x 1024 of 1024 rows).
int usual_product(const KernelShape& shape) {
  const auto& s = shape.sizes;
  const bool a_transposed = s[3] != 0, b_transposed = s[4] != 0, biased = s[6] != 0;
  return a_transposed && !b_transposed && s[0] <= s[1] && !biased ? kProductGemm
                                                                  : kProductPrimitive;
}

void product(std::int64_t m, std::int64_t n, std::int64_t k, const Matrix& a, const Matrix& b,
             const Matrix& bias, const Matrix& c, bool add, Scratch& scratch,
             const VariantChooser* chooser) {
  if (m == 0 || n == 0) return;
  const bool as_is = a.type == b.type &&
                     (a.type == DType::F32 ? c.type == DType::F32 : onednn::has_bf16()) &&
                     (a.type != DType::F32 || bias.data == nullptr || bias.type == DType::F32);
  if (as_is) return run(m, n, k, a, b, bias, c, add, scratch, chooser);
  const Scratch::Frame frame(scratch);
  const Matrix sum = in_floats(c, m * n, scratch, add);
  run(m, n, k, in_floats(a, m * k, scratch), in_floats(b, k * n, scratch),
      in_floats(bias, n, scratch), sum, add, scratch, chooser);
  if (sum.data != c.data) from_floats(static_cast<const float*>(sum.data), c.data, c.type, m * n);
}

void add_rows(std::int64_t m, std::int64_t n, const Matrix& a, const Matrix& sums,
              Scratch& scratch) {
  const Scratch::Frame frame(scratch);
  const Matrix floats = in_floats(sums, n, scratch);
  add_rows_of_floats(m, n, static_cast<const float*>(in_floats(a, m * n, scratch).data),
                     static_cast<float*>(floats.data));
  if (floats.data != sums.data)
    from_floats(static_cast<const float*>(floats.data), sums.data, sums.type, n);
}

}  // namespace trainyard

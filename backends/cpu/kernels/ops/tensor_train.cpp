// Looks up rows of a table that is kept as three cores. A row is two small products of slices of
// the cores; its gradient goes back through both, and adds to each slice, as often as the row is
// looked up. The rows that are looked up most often may be made once for all of their look-ups, and
// their gradients are then added up before they go back.
#include "core/model/tensor_train.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <vector>

#include "backends/cpu/kernels/kernels.h"
#include "backends/cpu/kernels/operands.h"
#include "backends/cpu/kernels/vectorised.h"
#include "core/base/error.h"
#include "core/model/hot_rows.h"

namespace trainyard {
namespace {

TRAINYARD_VECTORISED void add_row(std::int64_t n, const float* x, float* y) {
  for (std::int64_t i = 0; i < n; ++i) y[i] += x[i];
}

// c [m, n] += a [m, k] b [k, n]
TRAINYARD_VECTORISED void add_product(std::int64_t m, std::int64_t k, std::int64_t n,
                                      const float* a, const float* b, float* c) {
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t l = 0; l < k; ++l)
      for (std::int64_t j = 0; j < n; ++j) c[i * n + j] += a[i * k + l] * b[l * n + j];
}

// c [k, n] += a [m, k] transposed, times b [m, n]
TRAINYARD_VECTORISED void add_transposed_product(std::int64_t m, std::int64_t k, std::int64_t n,
                                                 const float* a, const float* b, float* c) {
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t l = 0; l < k; ++l)
      for (std::int64_t j = 0; j < n; ++j) c[l * n + j] += a[i * k + l] * b[i * n + j];
}

void transposed(std::int64_t rows, std::int64_t columns, const float* x, float* y) {
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j) y[j * rows + i] = x[i * columns + j];
}

struct Cores {
  const KernelCall& call;
  TensorTrain train;
  float factor;
  std::int64_t q1, q2, q3, r1, r2;
  float* middle;  // of the row that is made: G1 G2 as [q1 q2, r2]

  explicit Cores(const KernelCall& c)
      : call(c),
        train(tensor_train_of(c.graph, c.node)),
        factor(attribute(c.node, "scaled") != 0
                   ? static_cast<float>(std::sqrt(static_cast<double>(train.width())))
                   : 1.0f),
        q1(train.column_bases[0]),
        q2(train.column_bases[1]),
        q3(train.column_bases[2]),
        r1(train.first_rank),
        r2(train.second_rank),
        middle(c.scratch.floats(q1 * q2 * r2)) {}

  const float* slice(std::size_t core, const CoreDigits& digits) const {
    return input(call, core + 1).f32() + digits[core] * train.slice(core);
  }

  void make_middle(const CoreDigits& digits) const {
    std::fill_n(middle, q1 * q2 * r2, 0.0f);
    add_product(q1, r1, q2 * r2, slice(0, digits), slice(1, digits), middle);
  }

  void make(std::int64_t row, float* y) const {
    const CoreDigits digits = train.digits(row);
    make_middle(digits);
    std::fill_n(y, train.width(), 0.0f);
    add_product(q1 * q2, r2, q3, middle, slice(2, digits), y);
    for (std::int64_t j = 0; j < train.width(); ++j) y[j] *= factor;
  }
};

// The look-ups of a call, which of them are of hot rows, and at which place each of these lies.
struct LookUps {
  std::span<const std::int64_t> ids;
  std::vector<std::int64_t> hot = {};

  LookUps(const KernelCall& call, const TensorTrain& train, const TensorView& result)
      : ids(input(call, 0).i64(), static_cast<std::size_t>(result.elements() / train.width())) {
    for (const std::int64_t id : ids)
      if (id < 0 || id >= train.rows)
        throw Error(Error::Kind::InvalidInput,
                    call.node.name + " (tensor_train): expected indices from 0 to " +
                        std::to_string(train.rows - 1) + ", found " + std::to_string(id));
    if (const std::int64_t most = attribute(call.node, "hot_rows"); most > 0)
      hot = most_frequent(ids, most);
  }
  /// The place of the row among the hot ones; -1 if it is none of them.
  std::int64_t place(std::int64_t row) const {
    const auto found = std::lower_bound(hot.begin(), hot.end(), row);
    return found != hot.end() && *found == row ? found - hot.begin() : -1;
  }
};

void tensor_train_forward(const KernelCall& call) {
  const Scratch::Frame frame(call.scratch);
  const Cores cores(call);
  const std::int64_t width = cores.train.width();
  const LookUps all(call, cores.train, output(call));
  float* hot = nullptr;
  if (!all.hot.empty()) {
    hot = output(call, 1).f32();
    std::fill_n(hot, output(call, 1).elements(), 0.0f);
    for (std::size_t i = 0; i < all.hot.size(); ++i)
      cores.make(all.hot[i], hot + static_cast<std::int64_t>(i) * width);
  }
  float* y = output(call).f32();
  for (const std::int64_t id : all.ids) {
    if (const std::int64_t place = all.place(id); place >= 0)
      std::copy_n(hot + place * width, width, y);
    else
      cores.make(id, y);
    y += width;
  }
}

// Takes gradients of rows back through the cores.
class Back {
 public:
  explicit Back(const Cores& cores)
      : c_(cores),
        d_middle_(scratch().floats(c_.q1 * c_.q2 * c_.r2)),
        turned_second_(scratch().floats(c_.train.slice(1))),
        turned_third_(scratch().floats(c_.train.slice(2))),
        scaled_(scratch().floats(c_.train.width())) {}

  void add(std::int64_t row, const float* dy) const {
    const CoreDigits digits = c_.train.digits(row);
    const float *first = c_.slice(0, digits), *second = c_.slice(1, digits),
                *third = c_.slice(2, digits);
    const std::int64_t across = c_.q1 * c_.q2, within = c_.q2 * c_.r2;
    for (std::int64_t j = 0; j < c_.train.width(); ++j) scaled_[j] = c_.factor * dy[j];
    if (float* const to = gradient(2, digits)) {
      c_.make_middle(digits);
      add_transposed_product(across, c_.r2, c_.q3, c_.middle, scaled_, to);
    }
    transposed(c_.r2, c_.q3, third, turned_third_);
    std::fill_n(d_middle_, across * c_.r2, 0.0f);
    add_product(across, c_.q3, c_.r2, scaled_, turned_third_, d_middle_);
    if (float* const to = gradient(1, digits))
      add_transposed_product(c_.q1, c_.r1, within, first, d_middle_, to);
    if (float* const to = gradient(0, digits)) {
      transposed(c_.r1, within, second, turned_second_);
      add_product(c_.q1, within, c_.r1, d_middle_, turned_second_, to);
    }
  }

 private:
  Scratch& scratch() const { return c_.call.scratch; }
  float* gradient(std::size_t core, const CoreDigits& digits) const {
    const Target into = target(c_.call, core + 1);
    return into ? into.view.f32() + digits[core] * c_.train.slice(core) : nullptr;
  }

  const Cores& c_;
  float *d_middle_, *turned_second_, *turned_third_, *scaled_;
};

void tensor_train_backward_weight(const KernelCall& call) {
  const Scratch::Frame frame(call.scratch);
  const Cores cores(call);
  const std::int64_t width = cores.train.width();
  const LookUps all(call, cores.train, output_gradient(call));
  const Back back(cores);
  const auto held = static_cast<std::int64_t>(all.hot.size());
  float* const sums = call.scratch.floats(std::max<std::int64_t>(1, held * width));
  std::fill_n(sums, held * width, 0.0f);
  const float* dy = output_gradient(call).f32();
  for (const std::int64_t id : all.ids) {
    if (const std::int64_t place = all.place(id); place >= 0)
      add_row(width, dy, sums + place * width);
    else
      back.add(id, dy);
    dy += width;
  }
  for (std::int64_t i = 0; i < held; ++i)
    back.add(all.hot[static_cast<std::size_t>(i)], sums + i * width);
}

}  // namespace

CpuKernel tensor_train_kernel() {
  CpuKernel made;
  made.forward = tensor_train_forward;
  made.backward_weight = tensor_train_backward_weight;
  return made;
}

}  // namespace trainyard

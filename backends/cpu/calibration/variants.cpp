#include "backends/cpu/calibration/variants.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <utility>

#include "backends/cpu/kernels/convolution.h"
#include "backends/cpu/kernels/flush_subnormals.h"
#include "backends/cpu/kernels/one_thread.h"
#include "backends/cpu/kernels/product.h"
#include "backends/cpu/time/cpu_clock.h"
#include "core/base/digest.h"

namespace trainyard {
namespace {

constexpr double kLeastVariantTiming = 60e-6;  // seconds, so that the clock's own time is small
constexpr double kMostVariantCalls = 1000;
constexpr int kVariantRounds = 7, kLeastRounds = 2;
constexpr Duration kLongShape = std::chrono::milliseconds(15);  // has fewer rounds
constexpr std::int64_t kCopiedFloats = std::int64_t{1} << 20, kMostCopies = 64;
constexpr std::int64_t kMostVariantFloats = std::int64_t{64} << 20;

// Goes one way.
class Always final : public VariantChooser {
 public:
  explicit Always(int variant) : variant_(variant) {}
  int choose(const KernelShape&, int) const override { return variant_; }

 private:
  int variant_;
};

struct OperandSizes {
  std::int64_t first, second, out;
};

OperandSizes operand_sizes(const KernelShape& shape) {
  const auto& s = shape.sizes;
  if (shape.kernel == VariantKernel::Product) return {s[0] * s[2], s[2] * s[1], s[0] * s[1]};
  const std::int64_t images = s[1] * s[2] * s[3] * s[4], weights = s[2] * s[5] * s[8] * s[8],
                     result = s[1] * s[5] * s[6] * s[7];
  if (s[0] == 0) return {images, weights, result};
  if (s[0] == 1) return {result, weights, images};
  return {images, result, weights};
}

// In a step other kernels run in between. So each call has the next of several copies of the
// operands, which together exceed a core's own caches.
class VariantRun {
 public:
  // Operands of earlier shapes are used again, as far as they reach.
  void place(const KernelShape& shape) {
    shape_ = shape;
    sizes_ = operand_sizes(shape);
    for (std::int64_t* size : {&sizes_.first, &sizes_.second, &sizes_.out})
      *size = (*size + 15) / 16 * 16;
    const std::int64_t each = std::max<std::int64_t>(16, sizes_.first + sizes_.second + sizes_.out);
    copies_ = std::clamp<std::int64_t>(kCopiedFloats / each, 1, kMostCopies);
    const auto reserve = [&](std::vector<float>& of, std::int64_t floats) {
      if (of.size() < static_cast<std::size_t>(floats))
        of.resize(static_cast<std::size_t>(floats), 0.5F);
    };
    reserve(first_, copies_ * sizes_.first), reserve(second_, copies_ * sizes_.second);
    reserve(out_, copies_ * sizes_.out);
    if (shape.kernel == VariantKernel::Product) reserve(bias_, shape.sizes[1]);
    std::fill_n(out_.begin(), copies_ * sizes_.out, 0.0F);  // to which products may add
  }

  void run(int variant) {
    const auto& s = shape_.sizes;
    at_ = (at_ + 1) % copies_;
    float *first = first_.data() + at_ * sizes_.first,
          *second = second_.data() + at_ * sizes_.second, *out = out_.data() + at_ * sizes_.out;
    const Always always(variant);
    if (shape_.kernel == VariantKernel::Convolution)
      return run_convolution(shape_, always, first, second, out, scratch_);
    product(s[0], s[1], s[2], {first, DType::F32, s[3] != 0}, {second, DType::F32, s[4] != 0},
            s[6] != 0 ? Matrix{bias_.data()} : Matrix{}, {out}, s[5] != 0, scratch_, &always);
  }

  double seconds_of(int variant, int calls) {
    const Duration before = thread_processor_time();
    for (int i = 0; i < calls; ++i) run(variant);
    return std::max(1e-9, to_seconds(thread_processor_time() - before)) / calls;
  }

 private:
  KernelShape shape_;
  OperandSizes sizes_{};
  std::int64_t copies_ = 1, at_ = 0;
  std::vector<float> first_, second_, out_, bias_;
  Scratch scratch_;
};

VariantTiming time_variants(VariantRun& run, const KernelShape& shape, int usual) {
  run.place(shape);
  const int count = static_cast<int>(variant_names(shape.kernel).size());
  std::vector<double> least(static_cast<std::size_t>(count), 0);
  std::vector<int> calls(least.size());
  for (int v = 0; v < count; ++v) {
    if (!has_variant(shape, v)) continue;
    run.run(v);  // creates its primitive, and warms the caches
    const double once = run.seconds_of(v, 1);
    least[static_cast<std::size_t>(v)] = once;
    calls[static_cast<std::size_t>(v)] =
        static_cast<int>(std::clamp(kLeastVariantTiming / once, 1.0, kMostVariantCalls));
  }
  const Duration begin = thread_processor_time();
  for (int round = 0; round < kVariantRounds; ++round) {
    if (round >= kLeastRounds && thread_processor_time() - begin > kLongShape) break;
    for (int v = 0; v < count; ++v) {
      if (!has_variant(shape, v)) continue;
      run.run(v);
      double& best = least[static_cast<std::size_t>(v)];
      best = std::min(best, run.seconds_of(v, calls[static_cast<std::size_t>(v)]));
    }
  }
  VariantTiming timing{.shape = shape, .usual = usual, .times = {}};
  for (int v = 0; v < count; ++v) {
    const Duration time = seconds(least[static_cast<std::size_t>(v)]);
    timing.times.push_back(has_variant(shape, v) ? std::max(Duration{1}, time) : Duration{});
  }
  return timing;
}

}  // namespace

std::vector<VariantTiming> measure_variants(const std::map<KernelShape, int>& shapes, Duration box,
                                            const std::stop_token& stop) {
  // An order that has nothing to do with sizes.
  std::vector<std::pair<std::uint64_t, const std::pair<const KernelShape, int>*>> order;
  for (const auto& shape : shapes) {
    const OperandSizes sizes = operand_sizes(shape.first);
    if (sizes.first + sizes.second + sizes.out > kMostVariantFloats) continue;
    Digest digest;
    for (const std::int64_t size : shape.first.sizes) digest.add(size);
    order.emplace_back(digest.value(), &shape);
  }
  std::sort(order.begin(), order.end());
  stay_on_one_thread();
  const FlushSubnormals flush;
  VariantRun run;
  std::vector<VariantTiming> timings;
  const auto start = std::chrono::steady_clock::now();
  for (const auto& [place, shape] : order) {
    if (stop.stop_requested() || std::chrono::steady_clock::now() - start > box) break;
    timings.push_back(time_variants(run, shape->first, shape->second));
  }
  std::sort(timings.begin(), timings.end(),
            [](const VariantTiming& a, const VariantTiming& b) { return a.shape < b.shape; });
  return timings;
}

}  // namespace trainyard

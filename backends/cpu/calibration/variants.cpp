#include "backends/cpu/calibration/variants.h"

#include <algorithm>
#include <chrono>
#include <span>
#include <utility>

#include "backends/cpu/kernels/convolution.h"
#include "backends/cpu/kernels/flush_subnormals.h"
#include "backends/cpu/kernels/one_thread.h"
#include "backends/cpu/kernels/product.h"
#include "core/base/digest.h"
#include "core/base/processor_time.h"

namespace trainyard {
namespace {

constexpr int kVariantRounds = 9, kLeastRounds = 2;
constexpr Duration kLongShape = std::chrono::milliseconds(15);  // has fewer rounds
constexpr std::size_t kBetween = std::size_t{1} << 19;  // floats, of twice a core's own caches
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

// In a step other kernels run in between: their operands, and their code, take the place of this
// kernel's in the core's own caches, but for the operand that the kernel before it has written.
class VariantRun {
 public:
  // Operands of earlier shapes are used again, as far as they reach.
  void place(const KernelShape& shape) {
    shape_ = shape;
    sizes_ = operand_sizes(shape);
    const auto reserve = [&](std::vector<float>& of, std::int64_t floats) {
      if (of.size() < static_cast<std::size_t>(floats))
        of.resize(static_cast<std::size_t>(floats), 0.5F);
    };
    reserve(first_, sizes_.first), reserve(second_, sizes_.second), reserve(out_, sizes_.out);
    if (shape.kernel == VariantKernel::Product) reserve(bias_, shape.sizes[1]);
    std::fill_n(out_.begin(), sizes_.out, 0.0F);  // to which products may add
  }

  void run(int variant) {
    const auto& s = shape_.sizes;
    float *first = first_.data(), *second = second_.data(), *out = out_.data();
    const Always always(variant);
    if (shape_.kernel == VariantKernel::Convolution)
      return run_convolution(shape_, always, first, second, out, scratch_);
    product(s[0], s[1], s[2], {first, DType::F32, s[3] != 0}, {second, DType::F32, s[4] != 0},
            s[6] != 0 ? Matrix{bias_.data()} : Matrix{}, {out}, s[5] != 0, scratch_, &always);
  }

  double seconds_of(int variant) {
    for (float& number : others_) number += 1;
    const auto operand = std::span(first_).first(static_cast<std::size_t>(sizes_.first));
    for (float& number : operand.last(std::min(operand.size(), kBetween))) number = 0.5F;
    const Duration before = thread_processor_time();
    run(variant);
    return std::max(1e-9, to_seconds(thread_processor_time() - before));
  }

 private:
  KernelShape shape_;
  OperandSizes sizes_{};
  std::vector<float> first_, second_, out_, bias_, others_ = std::vector<float>(kBetween);
  Scratch scratch_;
};

VariantTiming time_variants(VariantRun& run, const KernelShape& shape, int usual) {
  run.place(shape);
  const int count = static_cast<int>(variant_names(shape.kernel).size());
  std::vector<double> least(static_cast<std::size_t>(count), 0);
  for (int v = 0; v < count; ++v)
    if (has_variant(shape, v)) {
      run.run(v);  // creates its primitive
      least[static_cast<std::size_t>(v)] = run.seconds_of(v);
    }
  const Duration begin = thread_processor_time();
  for (int round = 0; round < kVariantRounds; ++round) {
    if (round >= kLeastRounds && thread_processor_time() - begin > kLongShape) break;
    for (int v = 0; v < count; ++v) {
      if (!has_variant(shape, v)) continue;
      double& best = least[static_cast<std::size_t>(v)];
      best = std::min(best, run.seconds_of(v));
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

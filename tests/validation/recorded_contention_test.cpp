// Tests how much longer computation is found to take beside communication: exact figures of
// hand-made recordings.
#include "core/validation/recorded/recorded_contention.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "core/io/traces/chrome_trace_import.h"
#include "core/io/traces/nsys_csv_import.h"
#include "core/timeline/merged_trace.h"
#include "tests/support/collective_trace.h"

namespace trainyard {
namespace {

using namespace std::chrono_literals;

constexpr const char* kGemm = "sm90_xmma_gemm_bf16";
constexpr const char* kAdd = "void at::native::vectorized_elementwise_kernel<4, CUDAFunctor_add>";

RecordedContention contention(const RecordedTrace& trace) {
  return {computed_spans(trace), communicated_spans(trace)};
}

// A recording as PyTorch's profiler writes one with record_shapes=True: operators state their
// inputs, and their launches and kernels share their External id.
class ShapedTrace {
 public:
  /// Stream 7 runs one kernel after another; times are in microseconds.
  void kernel(const std::string& name, const std::string& dims, std::int64_t us) {
    ++id_;
    event("cpu_op", "aten::mm", 42, 1, now_, 1,
          fmt::format(R"("External id": {}, "Input Dims": {})", id_, dims));
    event("cuda_runtime", "cudaLaunchKernel", 42, 1, now_, 1,
          fmt::format(R"("External id": {}, "correlation": {})", id_, id_));
    event("kernel", name, 0, 7, now_, us,
          fmt::format(R"("correlation": {}, "grid": [{}, 1, 1], "block": [128, 1, 1])", id_, id_));
    now_ += us;
  }
  void communicate(std::int64_t from, std::int64_t to) {
    event("kernel", "ncclDevKernel_AllReduce", 0, 20, from, to - from, "");
  }
  std::int64_t now() const { return now_; }
  RecordedTrace trace() const {
    return parse_chrome_trace(R"({"traceEvents": [)" + events_ + "]}", "shaped.json");
  }

 private:
  void event(const std::string& category, const std::string& name, int process, int thread,
             std::int64_t from, std::int64_t us, const std::string& args) {
    events_ += fmt::format(
        R"({}{{"ph": "X", "cat": "{}", "name": "{}", "pid": {}, "tid": {}, "ts": {}, "dur": {}, "args": {{{}}}}})",
        events_.empty() ? "" : ",\n", category, name, process, thread, from, us, args);
  }

  std::int64_t id_ = 0, now_ = 0;
  std::string events_;
};

constexpr const char* kSquare = "[[64, 64], [64, 64]]";

ShapedTrace two_kinds() {
  ShapedTrace t;
  for (const std::int64_t us : {100, 90, 110}) t.kernel(kGemm, kSquare, us);
  for (int i = 0; i < 3; ++i) t.kernel(kAdd, "[[64]]", 50);
  const std::int64_t from = t.now();
  for (const std::int64_t us : {110, 120, 130, 140, 150}) t.kernel(kGemm, kSquare, us);
  for (int i = 0; i < 4; ++i) t.kernel(kAdd, "[[64]]", 60);
  t.communicate(from, t.now());
  return t;
}

TEST(RecordedContention, IsOfEachKindByTheMediansOfEqualKernels) {
  const RecordedTrace trace = two_kinds().trace();
  const RecordedContention found = contention(trace);
  ASSERT_EQ(found.measured().size(), 2u);
  const MeasuredContention &add = found.measured()[0], &gemm = found.measured()[1];
  EXPECT_EQ(add.of, "element-wise");
  EXPECT_EQ(add.kernels, 4);
  EXPECT_EQ(add.time, 200us);
  EXPECT_DOUBLE_EQ(add.factor, 1.2);
  EXPECT_DOUBLE_EQ(add.spread, 0);
  EXPECT_EQ(gemm.of, "products");
  EXPECT_EQ(gemm.kernels, 5);
  EXPECT_EQ(gemm.time, 500us);
  EXPECT_DOUBLE_EQ(gemm.factor, 1.3);
  EXPECT_DOUBLE_EQ(gemm.spread, 0.2 / 2 / 1.3);  // 1.4 and 1.2 times the median apart
  // Beside, 5 x 130 + 4 x 60, over 5 x 100 + 4 x 50 apart.
  EXPECT_DOUBLE_EQ(contention_of(found.measured()).value(), 890.0 / 700 - 1);
  EXPECT_FALSE(found.of_communication());
}

TEST(RecordedContention, KernelsOfOtherSizesAreNotCompared) {
  ShapedTrace t;
  for (int i = 0; i < 3; ++i) t.kernel(kGemm, kSquare, 100);
  const std::int64_t from = t.now();
  for (int i = 0; i < 3; ++i) t.kernel(kGemm, "[[64, 64], [64, 128]]", 200);
  t.communicate(from, t.now());
  EXPECT_TRUE(contention(t.trace()).measured().empty());
  EXPECT_FALSE(contention(t.trace()).of_computation());
}

// Work that ran partly beside a collective says neither what it takes apart nor beside, and two on
// one side have no median.
TEST(RecordedContention, NeedsThreeWhollyOnEachSide) {
  ShapedTrace t;
  for (int i = 0; i < 3; ++i) t.kernel(kGemm, kSquare, 100);
  const std::int64_t from = t.now();
  for (int i = 0; i < 3; ++i) t.kernel(kGemm, kSquare, 120);
  ShapedTrace partly = t;
  t.communicate(from, t.now());
  partly.communicate(from + 1, t.now());
  EXPECT_EQ(contention(t.trace()).measured().size(), 1u);
  EXPECT_TRUE(contention(partly.trace()).measured().empty());
}

TEST(RecordedContention, WhatAKernelTakesApartIsItsTimeLessWhatItLost) {
  const RecordedTrace trace = two_kinds().trace();
  const RecordedContention found = contention(trace);
  const std::int64_t from = 450'000;  // the collective's begin
  const std::uint32_t device = computed_spans(trace).front().process;
  const auto apart = [&](std::int64_t before, std::int64_t after, std::string_view of) {
    return found.apart({device, from - before, from + after, of});
  };
  EXPECT_EQ(apart(0, 130'000, "products"), 100us);
  EXPECT_EQ(apart(70'000, 60'000, "element-wise"), 120us);
  EXPECT_EQ(apart(70'000, 0, "products"), 70us);
  // Work that was not compared lost what all computation did.
  EXPECT_EQ(apart(0, 89'000, "attention"), 70us);
  EXPECT_EQ(apart(0, 89'000, kCommunicates), 70us);
  EXPECT_EQ(found.apart({device + 1, from, from + 126'000, "products"}), 126us);
}

TEST(RecordedContention, NsysTellsKernelsByTheirGrid) {
  std::string csv =
      "Start (ns),Duration (ns),CorrId,GrdX,GrdY,GrdZ,BlkX,BlkY,BlkZ,Device,Ctx,Strm,Name\n";
  std::int64_t at = 0;
  const auto add = [&](int grid, std::int64_t ns) {
    csv += fmt::format("{},{},,{},1,1,128,1,1,NVIDIA H100 (0),1,7,{}\n", at, ns, grid, kGemm);
    at += ns;
  };
  for (int i = 0; i < 3; ++i) add(32, 1000);
  const std::int64_t from = at;
  for (int i = 0; i < 3; ++i) add(32, 1500);
  for (int i = 0; i < 3; ++i) add(64, 9000);  // of another size, and beside only
  csv += fmt::format("{},{},,8,1,1,512,1,1,NVIDIA H100 (0),1,20,ncclDevKernel_AllGather\n", from,
                     at - from);
  const auto measured = contention(parse_nsys_csv(csv, "gpu.csv")).measured();
  ASSERT_EQ(measured.size(), 1u);
  EXPECT_EQ(measured[0].kernels, 3);
  EXPECT_DOUBLE_EQ(measured[0].factor, 1.5);
}

// Sizes survive merging with a recording that states none.
TEST(RecordedContention, IsOfAllRanksThatStateSizes) {
  std::vector<RecordedTrace> ranks = {two_kinds().trace(), two_kinds().trace()};
  ranks[0].sizes.clear();
  ranks[0].processes[0].rank = 0, ranks[1].processes[0].rank = 1;
  ranks[0].source = "rank0.json", ranks[1].source = "rank1.json";
  const auto measured = contention(merged_trace(std::move(ranks))).measured();
  ASSERT_EQ(measured.size(), 2u);
  EXPECT_EQ(measured[0].kernels, 4);
  EXPECT_DOUBLE_EQ(measured[1].factor, 1.3);
}

TEST(RecordedContention, OfCommunicationIsTheReverse) {
  std::vector<WorkSpan> computed, communicated;
  for (std::int64_t i = 0; i < 3; ++i) {
    const std::int64_t at = 1000 * i;
    computed.push_back({0, at, at + 200, "products"});
    communicated.push_back({0, at + 50, at + 150, kCommunicates, 4});
    communicated.push_back({0, at + 500, at + 580, kCommunicates, 4});
  }
  const RecordedContention found(computed, communicated);
  ASSERT_EQ(found.measured().size(), 1u);
  EXPECT_EQ(found.measured()[0].of, kCommunicates);
  EXPECT_DOUBLE_EQ(found.measured()[0].factor, 1.25);
  EXPECT_TRUE(found.of_communication());
  EXPECT_FALSE(found.of_computation());
  EXPECT_EQ(found.apart(communicated[0]).count(), 80);
}

TEST(ContentionOf, IsWhatHiddenCommunicationCosts) {
  const auto of = [](double computation, double communication) {
    return contention_of({{"products", computation, 0, 3, 2us},
                          {std::string(kCommunicates), communication, 0, 3, 1us}})
        .value();
  };
  EXPECT_EQ(contention_of({}), std::nullopt);
  EXPECT_EQ(contention_of({{std::string(kCommunicates), 2, 0, 3, 1us}}), std::nullopt);
  EXPECT_DOUBLE_EQ(contention_of({{"products", 1.25, 0, 3, 2us}}).value(), 0.25);
  EXPECT_EQ(contention_of({{"products", 0.9, 0, 3, 2us}}).value(), 0);
  EXPECT_EQ(of(1, 1.5), 0);
  // Both slowed alike end as the one number of the simulator says.
  EXPECT_DOUBLE_EQ(of(1.25, 1.25), 0.25);
  // 10 us of communication last 12 us beside computation, of which it loses a fifth.
  EXPECT_DOUBLE_EQ(of(1.25, 1.2), 0.24);
}

}  // namespace
}  // namespace trainyard

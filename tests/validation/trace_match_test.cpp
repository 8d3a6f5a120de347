// Tests matching recorded kernels to the work of a plan.
#include "core/validation/recorded/trace_match.h"

#include <gtest/gtest.h>

#include "tests/support/non_empty.h"

namespace trainyard {
namespace {

using namespace std::chrono_literals;

TEST(KernelFamily, IsToldByNamesOfRealLibraries) {
  using F = KernelFamily;
  const std::pair<const char*, F> known[] = {
      {"sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64", F::Product},
      {"nvjet_hsh_128x256_64x4_2x1_v_bz_coopA_TNT", F::Product},
      {"void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm>", F::Product},
      {"void flash_fwd_kernel<Flash_fwd_kernel_traits<128, 128, 64, 4>>", F::Attention},
      {"fmha_cutlassF_bf16_aligned_64x64_rf_sm80", F::Attention},
      {"void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add>",
       F::Elementwise},
      {"void at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda(at::"
       "TensorIteratorBase&)::{lambda()#3}::operator()() const::{lambda(float)#1}>",
       F::Elementwise},
      {"void LAMBStage1Kernel<float>", F::Optimizer},
      {"triton_red_fused__to_copy_add_mean_mul_pow_rsqrt_3", F::Elementwise},
      {"void at::native::(anonymous namespace)::indexSelectLargeIndex", F::Gather},
      {"void at::native::(anonymous namespace)::multi_tensor_apply_kernel", F::Optimizer},
      {"void at::native::(anonymous namespace)::cunn_SoftMaxForward<LogSoftMaxForwardEpilogue>",
       F::Loss},
      {"ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL", F::Communication}};
  for (const auto& [name, family] : testing::non_empty(known))
    EXPECT_EQ(family_of_kernel(name), family) << name;
  EXPECT_EQ(family_of_kernel("my_secret_kernel"), std::nullopt);
}

RooflinePoint point(const char* name, WorkKind kind, Duration time, std::int64_t calls) {
  RooflinePoint p;
  p.name = name, p.kind = kind, p.time = time, p.calls = calls;
  return p;
}

Roofline planned() {
  Roofline r;
  r.points = {point("q_proj", WorkKind::Product, 40ms, 8),
              point("down_proj", WorkKind::Product, 20ms, 8),
              point("attention", WorkKind::Attention, 10ms, 8)};
  r.bare = {point("optimizer", WorkKind::Optimizer, 4ms, 2)};
  LinkPoint link;
  link.name = "data", link.time = 2ms;
  r.traffic = {link};
  return r;
}

TEST(TraceMatch, IsOfOneStepOnOneDevice) {
  // Two steps on one device; the plan is of two pipeline ranks together.
  const TraceMatch m = match_trace({{"flash_bwd", RecordedKind::Backward, 20ms, 8},
                                    {"sm90_gemm_a", RecordedKind::Forward, 60ms, 16},
                                    {"sm90_gemm_b", RecordedKind::Backward, 72ms, 16},
                                    {"ncclAllReduce", RecordedKind::Communication, 8ms, 4},
                                    {"odd", RecordedKind::Forward, 40ms, 2},
                                    {"Memcpy HtoD", RecordedKind::Transfer, 99ms, 1}},
                                   2, 1, planned(), 2);
  ASSERT_EQ(m.families.size(), 3u);
  const MatchedFamily& products = m.families[0];
  EXPECT_EQ(products.family, KernelFamily::Product);
  EXPECT_EQ(products.measured, 66ms);
  EXPECT_EQ(products.predicted, 30ms);
  EXPECT_EQ(products.measured_calls, 16);
  EXPECT_EQ(products.nodes, (std::vector<std::string>{"q_proj", "down_proj"}));
  EXPECT_EQ(products.kernels, (std::vector<std::string>{"sm90_gemm_b", "sm90_gemm_a"}));
  // The others took 10 of 5 and 4 of 1 ms: three times in the middle.
  EXPECT_EQ(products.held_out, 90ms);
  ASSERT_EQ(m.kernels.size(), 1u);
  EXPECT_EQ(m.kernels[0].name, "odd");
  EXPECT_EQ(m.kernels[0].time, 20ms);
  ASSERT_EQ(m.nodes.size(), 1u);
  EXPECT_EQ(m.nodes[0].name, "optimizer");
  EXPECT_EQ(m.nodes[0].why, "the recording has no kernels of optimizer");
  EXPECT_DOUBLE_EQ(m.matched, 160.0 / 200);
}

// A run of the plan itself has the plan's names, each with its microbatch. What another name only
// begins like, or a library's name says otherwise, is another node.
TEST(TraceMatch, TheNamesOfThePlanAreKnown) {
  Roofline r = planned();
  r.points.push_back(point("gate_proj, up_proj weight gradient", WorkKind::Product, 1ms, 8));
  r.points.push_back(point("attention_dropout", WorkKind::Elementwise, 1ms, 8));
  const TraceMatch m = match_trace({{"q_proj 11", RecordedKind::Forward, 1ms, 1},
                                    {"up_proj 0", RecordedKind::Backward, 2ms, 1},
                                    {"gate_proj", RecordedKind::Backward, 4ms, 1},
                                    {"attention_dropout 3", RecordedKind::Forward, 8ms, 1},
                                    {"proj 3", RecordedKind::Forward, 16ms, 1},
                                    {"q_proj 1b", RecordedKind::Forward, 32ms, 1}},
                                   1, 1, r, 1);
  ASSERT_EQ(m.families.size(), 2u);
  EXPECT_EQ(m.families[0].family, KernelFamily::Product);
  EXPECT_EQ(m.families[0].measured, 7ms);
  EXPECT_EQ(m.families[1].family, KernelFamily::Elementwise);
  EXPECT_EQ(m.families[1].measured, 8ms);
  EXPECT_EQ(m.kernels.size(), 2u);
}

TEST(TraceMatch, WorkThatThePlanHasNotIsListed) {
  const TraceMatch m =
      match_trace({{"embedding_dense", RecordedKind::Forward, 5ms, 5}}, 1, 1, planned(), 1);
  EXPECT_TRUE(m.families.empty());
  ASSERT_EQ(m.kernels.size(), 1u);
  EXPECT_EQ(m.kernels[0].why, "the plan has no lookups");
  EXPECT_EQ(m.nodes.size(), 5u);
  EXPECT_EQ(m.matched, 0);
}

TEST(TraceMatch, OneKindHasNothingHeldOut) {
  const TraceMatch m = match_trace({{"gemm", RecordedKind::Forward, 5ms, 5}}, 1, 1, planned(), 1);
  ASSERT_EQ(m.families.size(), 1u);
  EXPECT_EQ(m.families[0].held_out, std::nullopt);
}

}  // namespace
}  // namespace trainyard

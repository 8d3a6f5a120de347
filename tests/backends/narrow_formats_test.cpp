// Products in 8 and 4 bits can be planned and priced, but no backend here executes them.
#include <gtest/gtest.h>

#include "backends/cpu/cpu_backend.h"
#include "backends/reference/reference_machine.h"
#include "tests/support/layers.h"

namespace trainyard {
namespace {

TEST(NarrowFormats, AreRefusedWithTheFormatAndAWayOut) {
  for (const auto& [precision, format] :
       {std::pair{"precision=fp8", "fp8"}, std::pair{"precision=nvfp4", "nvfp4"}}) {
    const Workload w = prepare(testing::scenario(
        testing::gpt({.layers = 2, .hidden = 32, .heads = 2, .sequence = 8, .vocab = 64}), 1,
        {precision}, "b200-hgx"));
    const Program p = lower(w, {.grain = Grain::Op});
    const Training training;
    const Diagnostics cpu = CpuBackend::check({w, p, TaskPrices{}, &training}),
                      reference = ReferenceMachine::check(w, p);
    ASSERT_TRUE(has_errors(cpu));
    ASSERT_TRUE(has_errors(reference));
    EXPECT_EQ(cpu[0].message,
              std::string("a local run multiplies in fp32, bf16 or fp16, found ") + format);
    EXPECT_EQ(cpu[0].fix, "precision=bf16");
    EXPECT_EQ(
        reference[0].message,
        std::string("the reference computes every product in 8-byte numbers, found casts to ") +
            format);
  }
}

}  // namespace
}  // namespace trainyard

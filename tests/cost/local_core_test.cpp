// Tests the price of a kernel on a core of this machine if nothing was measured.
#include "core/cost/local_core.h"
#include "core/cluster/local_device.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "core/cost/physical.h"
#include "core/model/ops.h"
#include "tests/support/non_empty.h"

namespace trainyard {
namespace {

Work product_of(std::int64_t m, std::int64_t n, std::int64_t k) {
  Work work;
  work.kind = WorkKind::Product;
  work.m = m, work.n = n, work.k = k;
  work.flops = {2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k)};
  work.read = Bytes{4 * (m * k + k * n)}, work.written = Bytes{4 * m * n};
  return work;
}

double microseconds(const Work& work) {
  return 1e6 * local_core_time(work, device("cpu")).seconds();
}

// A core has no tiles of 128 x 128 to fill: a product of 8 x 64 x 13 is little more than its start.
TEST(LocalCore, ASmallProductIsLittleMoreThanItsStart) {
  const double start = 1e6 * to_seconds(device("cpu").launch.value);
  EXPECT_GE(microseconds(product_of(8, 64, 13)), start);
  EXPECT_LT(microseconds(product_of(8, 64, 13)), 1.5 * start);
  // A large product reaches 0.8 of the peak.
  const Work large = product_of(2048, 2048, 2048);
  EXPECT_NEAR(large.flops.value / (1e-6 * microseconds(large)), 0.8 * 262e9, 0.05 * 262e9);
}

TEST(LocalCore, MoreWorkNeverTakesLess) {
  EXPECT_TRUE(rc::check([] {
    const auto size = [] { return static_cast<std::int64_t>(*rc::gen::inRange(1, 512)); };
    const std::int64_t m = size(), n = size(), k = size(), more = size();
    const double one = microseconds(product_of(m, n, k));
    RC_ASSERT(microseconds(product_of(m + more, n, k)) > one);
    RC_ASSERT(microseconds(product_of(m, n + more, k)) > one);
    RC_ASSERT(microseconds(product_of(m, n, k + more)) > one);
  }));
}

TEST(LocalCore, AConvolutionPaysForItsLayout) {
  Work work = product_of(64, 64, 32);
  work.kernel = kernel_of(matmul(), Pass::Forward);
  const double plain = microseconds(work);
  work.kernel = kernel_of(convolution(), Pass::Forward);
  EXPECT_NEAR(microseconds(work) - plain, 15, 1e-6);
}

// The workbench's own cost model uses the same price, which depends on no parameter of an
// accelerator's kernels.
TEST(LocalCore, IsWhatTheWorkbenchPredictsBy) {
  const Device core = device("cpu");
  EXPECT_TRUE(is_local_core(core));
  EXPECT_FALSE(is_local_core(device("cpu-small")));
  const auto model = physical_cost_model(settle({}, core), Parameters());
  for (const Work& work : {product_of(8, 64, 13), product_of(128, 512, 128)})
    EXPECT_EQ(model->compute(work, core), seconds(local_core_time(work, core).seconds()));
  for (const Parameter p : testing::non_empty(parameters_of(core))) {
    EXPECT_NE(p, Parameter::InnerLength);
    EXPECT_NE(p, Parameter::OptimizerBytes);
  }
}

}  // namespace
}  // namespace trainyard

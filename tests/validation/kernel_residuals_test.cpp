// Compares measured kernels with their predictions.
#include "core/validation/kernel_residuals.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/base/error.h"

namespace trainyard {
namespace {

using namespace std::chrono_literals;

KernelTiming timing(double flops, Duration time, int repeats, std::int16_t kernel = 3) {
  KernelTiming t;
  t.time = time, t.repeats = repeats;
  t.work.kind = WorkKind::Product;
  t.work.kernel = kernel;
  t.work.flops = {flops};
  t.work.read = {1000}, t.work.written = {500};
  return t;
}

// Ten microseconds for everything.
class Fixed final : public CostModel {
 public:
  std::string_view name() const override { return "fixed"; }
  std::vector<std::string> leaves_out() const override { return {}; }
  Duration compute(const Work&, const Device&) const override { return 10us; }
  Duration transfer(Bytes, const Cluster&, std::size_t) const override { return {}; }
  CollectiveTime collective(CollectiveKind, Bytes, const GroupShape&,
                            const Cluster&) const override {
    return {};
  }
  double band() const override { return 0.1; }
  std::string_view band_basis() const override { return "fixed"; }
};

Calibration example() {
  Calibration c;
  c.copy = {1us, {10e9}}, c.reduce = {10e9};
  c.overhead = 7us;  // of an executor: no part of a kernel's own time
  // A straight line, but for the fourth; then a kernel of one shape.
  c.kernels = {timing(1e6, 10us, 1), timing(2e6, 20us, 5), timing(4e6, 40us, 2),
               timing(8e6, 100us, 1), timing(3e6, 5us, 1, 4)};
  return c;
}

// Twice what the formula of a core says, for twenty shapes and no fewer.
TEST(KernelResiduals, LearnsFromTwentyShapesOn) {
  Calibration c = example();
  c.kernels.clear();
  const auto add = [&](double flops) {
    KernelTiming t = timing(flops, 1us, 1);
    t.work.read = {static_cast<std::int64_t>(flops / 100)};
    Calibration none = example();
    none.kernels.clear();
    t.time = 2 * calibrated_cost_model(none)->compute(t.work, device("cpu"));
    c.kernels.push_back(t);
  };
  for (int i = 1; i < 20; ++i) add(1e6 * i);
  const KernelResiduals few = kernel_residuals(c, std::make_shared<Fixed>(), device("cpu"));
  EXPECT_EQ(few.learned_held_out.points, 0u);
  EXPECT_EQ(few.kernels[0].learned, std::nullopt);
  add(20e6);
  const KernelResiduals found = kernel_residuals(c, std::make_shared<Fixed>(), device("cpu"));
  EXPECT_EQ(found.learned_held_out.points, 20u);
  EXPECT_LE(found.learned_held_out.worst, 0.05) << "one factor is soon learned";
}

TEST(KernelResiduals, LeavesEachShapeOutOnce) {
  const KernelResiduals found =
      kernel_residuals(example(), std::make_shared<Fixed>(), device("cpu"));
  ASSERT_EQ(found.kernels.size(), 5u);
  // 1 x 100, 5 x 20 (earlier in the list), 2 x 40, 1 x 10, 1 x 5 microseconds.
  EXPECT_EQ(found.kernels[0].kernel, 1u);
  EXPECT_EQ(found.kernels[1].kernel, 3u);
  EXPECT_EQ(found.kernels[2].kernel, 2u);
  EXPECT_EQ(found.kernels[4].kernel, 4u);
  EXPECT_EQ(found.kernels[4].held_out, std::nullopt) << "no other shape of that kernel";
  // Between 10 and 40 at twice and half the work; beyond the largest in proportion; but for the
  // start, which does not grow with the work.
  ASSERT_TRUE(found.kernels[0].held_out.has_value());
  EXPECT_NEAR(to_seconds(*found.kernels[0].held_out), 20e-6, 1e-6);
  EXPECT_NEAR(to_seconds(*found.kernels[1].held_out), 80e-6, 3e-6);
  EXPECT_EQ(found.kernels[0].before, 10us);
  EXPECT_EQ(found.held_out.points, 4u);
  EXPECT_NEAR(found.held_out.worst, 0.2, 0.03);
  EXPECT_NEAR(found.held_out.p90, std::sqrt(20.0 * 100) / 40 - 1, 3e-3);
  EXPECT_EQ(found.before.points, 5u);
  EXPECT_NEAR(found.before.worst, 1.0, 1e-9) << "10 us predicted of 5";
}

TEST(KernelResiduals, SharesAreOfSortedErrors) {
  const ResidualShares s = residual_shares({0.4, 0.1, 0.3, 0.2, 0.5});
  EXPECT_EQ(s, (ResidualShares{5, 0.3, 0.4, 0.5}));
  EXPECT_EQ(residual_shares({}), ResidualShares{});
}

TEST(KernelResiduals, CanBeStopped) {
  std::stop_source stop;
  stop.request_stop();
  EXPECT_THROW(
      kernel_residuals(example(), std::make_shared<Fixed>(), device("cpu"), stop.get_token()),
      Error);
}

}  // namespace
}  // namespace trainyard

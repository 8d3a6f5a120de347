#include "core/cost/engine_efficiency.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/non_empty.h"

namespace trainyard {
namespace {

const Engine& engine(std::string_view name, std::string_view precision) {
  const auto all = engines();
  const auto found = std::find_if(all.begin(), all.end(), [&](const Engine& e) {
    return e.name == name && e.precision == precision;
  });
  if (found == all.end()) throw std::out_of_range(std::string(name));
  return *found;
}

TEST(EngineEfficiency, HasTheTutorialsRows) {
  EXPECT_EQ(engines().size(), 8u);
  EXPECT_EQ(engine("Cell", "").gflops_per_watt, 5);
  EXPECT_EQ(engine("Cell", "").utilisation, 0.88);
  EXPECT_EQ(engine("GTX 480", "single").gflops_per_watt, 5.2);
  EXPECT_EQ(engine("GTX 480", "single").utilisation, 0.7);
  EXPECT_EQ(engine("GTX 480", "double").gflops_per_watt, 2.6);
  EXPECT_FALSE(engine("GTX 480", "double").utilisation);
  EXPECT_EQ(engine("Intel i7-960", "single").gflops_per_watt, 1.2);
  EXPECT_EQ(engine("Intel i7-960", "single").utilisation, 0.95);
  EXPECT_EQ(engine("Stratix IV", "double").gflops_per_watt, 2);
  EXPECT_EQ(engine("ClearSpeed", "").gflops_per_watt, 12.5);
  EXPECT_EQ(engine("ClearSpeed", "").utilisation, 0.78);
  EXPECT_EQ(engine("Linear Algebra Processor", "single").gflops_per_watt, 55);
  EXPECT_EQ(engine("Linear Algebra Processor", "double").gflops_per_watt, 25);
  EXPECT_TRUE(engine("Linear Algebra Processor", "double").at_least);
  // The tutorial's conclusion: about ten times the best of the others in the same precision.
  EXPECT_NEAR(engine("Linear Algebra Processor", "single").gflops_per_watt /
                  engine("GTX 480", "single").gflops_per_watt,
              10, 1);
  EXPECT_NEAR(engine("Linear Algebra Processor", "double").gflops_per_watt /
                  engine("GTX 480", "double").gflops_per_watt,
              10, 1);
}

TEST(EngineEfficiency, ADeviceIsItsSustainedRateOverItsBoardLimit) {
  const Device& h100 = device("h100-sxm");
  const DeviceEfficiency found = device_efficiency(h100);
  const double share = h100.efficiency.product.value;
  EXPECT_NEAR(found.half.value_or(0), 989.4e3 * share / 700, 1e-9);
  EXPECT_NEAR(found.precise.value_or(0), 66.9e3 * share / 700, 1e-9);
  EXPECT_NEAR(found.half_per_area.value_or(0), 989.4e3 * share / 814, 1e-9);
  EXPECT_EQ(found.utilisation, share);
}

TEST(EngineEfficiency, EveryDeviceWithABoardLimitIsThereAndNoOther) {
  const std::vector<DeviceEfficiency> all = device_efficiencies();
  const auto stated = std::count_if(devices().begin(), devices().end(),
                                    [](const Device& d) { return d.power.value.value > 0; });
  EXPECT_EQ(static_cast<std::ptrdiff_t>(all.size()), stated);
  for (const DeviceEfficiency& one : testing::non_empty(all)) {
    EXPECT_TRUE(one.half || one.single) << one.device->id;
    EXPECT_EQ(one.area.has_value(), one.half_per_area.has_value()) << one.device->id;
  }
}

TEST(EngineEfficiency, WithoutABoardLimitNothingIsMadeUp) {
  Device unknown = device("h100-sxm");
  unknown.power = {};
  const DeviceEfficiency found = device_efficiency(unknown);
  EXPECT_FALSE(found.half);
  EXPECT_FALSE(found.single);
  EXPECT_TRUE(found.half_per_area);
}

}  // namespace
}  // namespace trainyard

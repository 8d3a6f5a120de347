#include "core/result/energy.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "core/cluster/device.h"
#include "core/result/carbon.h"
#include "tests/support/non_empty.h"

namespace trainyard {
namespace {

constexpr Watts Banded<Watts>::* kEnds[] = {&Banded<Watts>::low, &Banded<Watts>::value,
                                            &Banded<Watts>::high};
constexpr Joules Banded<Joules>::* kEnergyEnds[] = {&Banded<Joules>::low, &Banded<Joules>::value,
                                                    &Banded<Joules>::high};

Device powered(double board, double idle = 0) {
  Device d = device("h100-sxm");
  d.power = {{board}, "a datasheet"};
  d.idle_power = {{idle}, idle > 0 ? "a reading" : "not stated"};
  return d;
}

DeviceTime any_time() {
  const auto seconds = [] { return *rc::gen::inRange(0, 1'000'000) * 1e-3; };
  return {seconds(), seconds(), seconds(), seconds()};
}

// Shares of a whole, so that a shrunk case reads well.
double any_share() { return *rc::gen::inRange(0, 1001) * 1e-3; }

const Device& any_device() {
  static const std::vector<Device> known = [] {
    std::vector<Device> list;
    for (const Device& d : devices())
      if (d.power.value.value > 0) list.push_back(d);
    return list;
  }();
  return known[static_cast<std::size_t>(
      *rc::gen::inRange<std::int64_t>(0, static_cast<std::int64_t>(known.size())))];
}

TEST(Energy, LiesBetweenIdleAndBoardPower) {
  EXPECT_TRUE(rc::check("bounds", [] {
    const Device& d = any_device();
    const DeviceTime time = any_time();
    const PowerDraw draw = *power_draw(d, any_share());
    const Banded<Joules> energy = energy_of(draw, time);
    const double board = d.power.value.value * time.total();
    const double rounding = 1e-9 * board;
    for (std::size_t e = 0; e < 3; ++e) {
      const double joules = (energy.*kEnergyEnds[e]).value;
      RC_ASSERT(joules <= board + rounding);
      RC_ASSERT(joules >= (draw.idle.*kEnds[e]).value * time.total() - rounding);
      for (const Banded<Watts>* state :
           {&draw.idle, &draw.communicating, &draw.streaming, &draw.computing})
        RC_ASSERT((state->*kEnds[e]).value <= d.power.value.value * (1 + 1e-12));
      RC_ASSERT((draw.idle.*kEnds[e]).value <= (draw.communicating.*kEnds[e]).value);
      RC_ASSERT((draw.communicating.*kEnds[e]).value <= (draw.streaming.*kEnds[e]).value);
      RC_ASSERT((draw.streaming.*kEnds[e]).value <= (draw.computing.*kEnds[e]).value * (1 + 1e-12));
    }
    RC_ASSERT(energy.low.value <= energy.value.value);
    RC_ASSERT(energy.value.value <= energy.high.value);
  }));
}

TEST(Energy, MoreBubbleAtEqualWorkIsNoMorePowerAndNoLessEnergy) {
  EXPECT_TRUE(rc::check("bubble", [] {
    const PowerDraw draw = *power_draw(any_device(), any_share());
    const DeviceTime time = any_time();
    RC_PRE(time.total() > 0);
    DeviceTime longer = time;
    longer.idle += *rc::gen::inRange(0, 1'000'000) * 1e-3;
    const Banded<Joules> before = energy_of(draw, time), after = energy_of(draw, longer);
    for (const auto end : kEnergyEnds) {
      RC_ASSERT((after.*end).value >= (before.*end).value);
      RC_ASSERT((after.*end).value / longer.total() <=
                (before.*end).value / time.total() * (1 + 1e-9));
    }
  }));
}

// Board power times time where nothing idles and products run as fast as they can.
TEST(Energy, ADeviceAtItsPeakDrawsItsBoardPower) {
  for (const Device& d : testing::non_empty(devices())) {
    const std::optional<PowerDraw> draw = power_draw(d, 1);
    ASSERT_EQ(draw.has_value(), d.power.value.value > 0) << d.id;
    if (!draw) continue;
    EXPECT_NEAR(energy_of(*draw, {10, 0, 0, 0}).value.value, 10 * d.power.value.value, 1e-6)
        << d.id;
  }
}

TEST(Energy, SumsOverDevices) {
  EXPECT_TRUE(rc::check("sums", [] {
    const PowerDraw draw = *power_draw(any_device(), any_share());
    const int count = *rc::gen::inRange(1, 20);
    DeviceTime all;
    double sum = 0;
    for (int i = 0; i < count; ++i) {
      const DeviceTime one = any_time();
      all += one;
      sum += energy_of(draw, one).value.value;
    }
    const double whole = energy_of(draw, all).value.value;
    RC_ASSERT(std::abs(whole - sum) <= 1e-9 * (1 + sum));
    RC_ASSERT(std::abs(energy_of(draw, all * 8).value.value - 8 * whole) <= 1e-8 * (1 + whole));
  }));
}

TEST(Energy, StatedIdlePowerStandsAndAnUnstatedOneIsAShareOfBoardPower) {
  EXPECT_DOUBLE_EQ(power_draw(powered(700, 127), 0)->idle.value.value, 127);
  const Banded<Watts> assumed = power_draw(powered(700), 0)->idle;
  EXPECT_DOUBLE_EQ(assumed.value.value, 0.18 * 700);
  // Wider than where it is stated.
  const Banded<Watts> stated = power_draw(powered(700, 0.18 * 700), 0)->idle;
  EXPECT_LT(assumed.low.value, stated.low.value);
  EXPECT_GT(assumed.high.value, stated.high.value);
  EXPECT_NE(assumed.basis.find("assumed"), std::string::npos);
  EXPECT_EQ(stated.basis, "a reading");
  EXPECT_FALSE(power_draw(powered(0), 1));
}

// The readings that the shares stand on lie in the range of an idle power that is not stated.
TEST(Energy, PublishedIdleReadingsLieInTheAssumedRange) {
  int readings = 0;
  for (const Device& d : testing::non_empty(devices())) {
    if (!(d.idle_power.value.value > 0) || d.vendor == "Google") continue;
    const Device unstated = powered(d.power.value.value);
    const Banded<Watts> idle = power_draw(unstated, 0)->idle;
    EXPECT_GE(d.idle_power.value.value, idle.low.value) << d.id;
    EXPECT_LE(d.idle_power.value.value, 1.02 * idle.high.value) << d.id;
    ++readings;
  }
  EXPECT_GE(readings, 5);
}

// 989.4 TFLOP/s of bfloat16 at 0.70: what an H100 does of products in a second is load 1.
TEST(Energy, LoadIsTheShareOfTheSustainedRateOfProducts) {
  const Device& h100 = device("h100-sxm");
  const double sustained = peak(h100, DType::BF16).value * h100.efficiency.product.value;
  EXPECT_NEAR(product_load({8, 1, 1, 1}, Flops{4 * sustained}, h100, DType::BF16), 0.5, 1e-12);
  EXPECT_EQ(product_load({1, 0, 0, 0}, Flops{2 * sustained}, h100, DType::BF16), 1);
  EXPECT_EQ(product_load({0, 1, 1, 1}, Flops{0}, h100, DType::BF16), 0);
}

// A node of 8 H100 that fine-tunes Llama 2 70B draws 6,741 W (MLPerf Training 4.0, closed division
// with power, SMC); its processors, switches and network take 1,000 to 2,000 W of that (assumed).
// Nearly all of the step is computation, at 80 to 100 % of what products sustain.
TEST(Energy, APublishedNodeLiesInTheRange) {
  for (const double load : {0.8, 0.9, 1.0}) {
    const DeviceTime time{0.92, 0.01, 0.05, 0.02};
    const double watts = energy_of(*power_draw(device("h100-sxm"), load), time).value.value;
    EXPECT_GE(watts, (6741 - 2000) / 8.0) << load;
    EXPECT_LE(watts, (6741 - 1000) / 8.0) << load;
  }
}

TEST(Energy, TimeOfABreakdownIsWhole) {
  using namespace std::chrono_literals;
  Breakdown b;
  b.forward = 10ms, b.backward = 20ms, b.recompute = 5ms, b.optimizer = 4ms;
  b.tensor_parallel = 3ms, b.pipeline = 2ms, b.bubble = 7ms, b.host = 6ms, b.allocator = 1ms;
  const DeviceTime time = device_time(b);
  EXPECT_NEAR(time.total(), to_seconds(b.sum()), 1e-12);
  EXPECT_NEAR(time.computing, 0.035, 1e-12);
  EXPECT_NEAR(time.streaming, 0.004, 1e-12);
  EXPECT_NEAR(time.communicating, 0.005, 1e-12);
  EXPECT_NEAR(time.idle, 0.014, 1e-12);
}

TEST(Energy, PartsAddUpToTheStepWithItsRange) {
  EXPECT_TRUE(rc::check("parts", [] {
    const PowerDraw draw = *power_draw(any_device(), any_share());
    const DeviceTime time = any_time();
    Banded<Joules> whole = energy_of(draw, time);
    whole.low.value *= 0.8, whole.high.value *= 1.3;  // the range of the step's length too
    const EnergyParts parts = energy_parts(draw, time, whole);
    const Banded<Joules> working = parts.working();
    for (const auto end : kEnergyEnds)
      RC_ASSERT(std::abs((working.*end).value + (parts.idle.*end).value - (whole.*end).value) <=
                1e-9 * (1 + (whole.*end).value));
    RC_ASSERT(whole.value.value <= parts.at_board.value * (1 + 1e-9));
  }));
}

// Idle seconds at idle power, and all seconds at board power.
TEST(Energy, WaitingTakesIdlePowerForItsTime) {
  const PowerDraw draw = *power_draw(powered(700, 127), 1);
  const DeviceTime time{30, 4, 6, 20};
  const EnergyParts parts = energy_parts(draw, time, energy_of(draw, time));
  EXPECT_DOUBLE_EQ(parts.idle.value.value, 127 * 20);
  EXPECT_DOUBLE_EQ(parts.computing.value.value, 700 * 30);
  EXPECT_DOUBLE_EQ(parts.at_board.value, 700 * 60);
}

TEST(Energy, MoreBubbleNeverTakesLessWhileWaiting) {
  EXPECT_TRUE(rc::check("waiting", [] {
    const PowerDraw draw = *power_draw(any_device(), any_share());
    const DeviceTime time = any_time();
    DeviceTime longer = time;
    longer.idle += *rc::gen::inRange(0, 1'000'000) * 1e-3;
    const EnergyParts before = energy_parts(draw, time, energy_of(draw, time)),
                      after = energy_parts(draw, longer, energy_of(draw, longer));
    for (const auto end : kEnergyEnds)
      RC_ASSERT((after.idle.*end).value >= (before.idle.*end).value * (1 - 1e-12));
    RC_ASSERT(std::abs(after.computing.value.value - before.computing.value.value) <= 1e-6);
  }));
}

// 1 kWh in Sweden at 40.7 g, with a building that takes a tenth more.
TEST(Carbon, IsEnergyTimesOverheadTimesIntensity) {
  const Banded<Joules> energy{{3.6e6}, {1.8e6}, {7.2e6}, ""};
  const std::optional<Banded<double>> kilograms = carbon_of(energy, {"sweden", 1.1});
  ASSERT_TRUE(kilograms);
  EXPECT_NEAR(kilograms->value, 0.0407 * 1.1, 1e-12);
  EXPECT_NEAR(kilograms->low, 0.0407 * 1.1 / 2, 1e-12);
  EXPECT_NEAR(kilograms->high, 0.0407 * 1.1 * 2, 1e-12);
  EXPECT_NEAR(site_energy(energy, {"", 1.1}).value.value, 3.96e6, 1e-6);
  EXPECT_FALSE(carbon_of(energy, {"", 1.1}));
}

// The Llama 3.1 model card states 11,390 t for 39.3 million hours of 700 W, 0.41 kg a kWh: between
// the electricity of the United States as it is, and with the overhead of an ordinary centre.
TEST(Carbon, APublishedTrainingLiesWithinItsRegion) {
  const double joules = 39.3e6 * 3600 * 700;
  const Banded<Joules> energy{{joules}, {joules}, {joules}, ""};
  EXPECT_LT(carbon_of(energy, {"united-states", 1})->value, 11'390e3);
  EXPECT_GT(carbon_of(energy, {"united-states", 1.2})->value, 11'390e3);
}

}  // namespace
}  // namespace trainyard

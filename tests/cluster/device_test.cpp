#include "core/cluster/device.h"

#include <gtest/gtest.h>

#include <set>
#include <utility>

#include "core/base/error.h"
#include "tests/support/non_empty.h"

namespace trainyard {
namespace {

using namespace std::chrono_literals;

std::string device_refusal(std::string_view id) {
  try {
    device(id);
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Devices, FiftyFiveWithDifferentNames) {
  std::set<std::string> ids;
  for (const Device& d : devices()) ids.insert(d.id);
  EXPECT_EQ(devices().size(), 55u);
  EXPECT_EQ(ids.size(), 55u);
}

// Compares five rows with the table they came from.
TEST(Devices, H100) {
  const Device& d = device("h100-sxm");
  EXPECT_EQ(d.memory.value, 85'520'809'984_B);  // what the driver reports: 81,559 MiB
  EXPECT_EQ(d.memory_bandwidth.value.value, 3.35e12);
  EXPECT_EQ(peak(d, DType::BF16).value, 989.4e12);
  EXPECT_EQ(peak(d, DType::F8).value, 1978.9e12);
  EXPECT_EQ(peak(d, DType::TF32).value, 494.7e12);
  EXPECT_EQ(peak(d, DType::F32).value, 66.9e12);
  EXPECT_EQ(d.scale_up.value.value, 450e9);
  EXPECT_EQ(d.scale_up_domain, 8);
  EXPECT_EQ(d.network.value.value, 50e9);  // 400 Gb/s
  EXPECT_EQ(d.power.value.value, 700);
  EXPECT_EQ(d.price_low->value, 1.99);
  EXPECT_EQ(d.price_high->value, 5.0);
}

TEST(Devices, A100) {
  const Device& d = device("a100-sxm-80");
  EXPECT_EQ(d.memory.value, 80_GiB);
  EXPECT_EQ(d.memory_bandwidth.value.value, 2.039e12);
  EXPECT_EQ(peak(d, DType::F16).value, 312e12);
  EXPECT_EQ(peak(d, DType::F64).value, 19.5e12);
  EXPECT_FALSE(supports(d, DType::F8));
  EXPECT_EQ(d.network.value.value, 25e9);
  EXPECT_EQ(d.units, 108);
}

TEST(Devices, TensorProcessorV5eHasOnlyNarrowProducts) {
  const Device& d = device("tpu-v5e");
  EXPECT_EQ(peak(d, DType::BF16).value, 197e12);
  EXPECT_FALSE(supports(d, DType::F32));
  EXPECT_EQ(d.scale_up_topology, Topology::Torus);
  EXPECT_EQ(d.scale_up_dimensions, 2);
  EXPECT_EQ(d.scale_up_domain, 256);
  EXPECT_EQ(d.network.value.value, 3.125e9);
}

TEST(Devices, Mi300x) {
  const Device& d = device("mi300x");
  EXPECT_EQ(d.memory.value, 206'141'652'992_B);
  EXPECT_EQ(peak(d, DType::BF16).value, 1307.4e12);
  EXPECT_EQ(d.scale_up_topology, Topology::Mesh);
  EXPECT_EQ(d.scale_up.value.value, 448e9);
  EXPECT_NEAR(d.efficiency.product.value, 0.87 * 668.4 / 1307.4, 1e-12);
}

TEST(Devices, RackOfGraceBlackwell) {
  const Device& d = device("gb200-gpu");
  EXPECT_EQ(d.memory.value, 198'674'743'296_B);
  EXPECT_EQ(peak(d, DType::F8).value, 5e15);
  EXPECT_EQ(d.scale_up_domain, 72);
  EXPECT_EQ(d.scale_up.value.value, 900e9);
  EXPECT_EQ(d.year, 2024);
}

// From published runs of torchtitan: boards with a power cap and slower memory.
TEST(Devices, CappedH100WithOlderMemory) {
  const Device& d = device("H100-96-HBM2e-500W");
  EXPECT_EQ(d.id, "h100-sxm-96");
  EXPECT_EQ(d.power.value.value, 500);
  EXPECT_EQ(d.memory_bandwidth.value.value, 2.45e12);
  EXPECT_EQ(peak(d, DType::BF16).value, peak(device("h100"), DType::BF16).value);
  EXPECT_LT(d.efficiency.product.value, device("h100").efficiency.product.value);
}

// Four bits: four times the 16-bit peak, six times in the Ultra generation.
TEST(Devices, FourBitPeaksOfBlackwell) {
  for (const auto& [id, times] :
       {std::pair{"b100", 4.0}, std::pair{"b200", 4.0}, std::pair{"gb200", 4.0},
        std::pair{"b300", 6.0}, std::pair{"gb300", 6.0}}) {
    const Device& d = device(id);
    EXPECT_DOUBLE_EQ(peak(d, DType::F4).value, times * peak(d, DType::BF16).value) << id;
  }
  EXPECT_EQ(device("gb300").scale_up_domain, 72);
  EXPECT_EQ(device("gb300").network.value.value, 100e9);
  EXPECT_EQ(device("b300").network.value.value, 100e9);
  EXPECT_EQ(device("b200").network.value.value, 50e9);
}

// Names as tables of published runs have them.
TEST(Devices, NamesInTablesOfRuns) {
  for (const auto& [name, id] :
       {std::pair{"A100-80", "a100-sxm-80"}, std::pair{"A100-40", "a100-sxm-40"},
        std::pair{"A100", "a100-sxm-80"}, std::pair{"H100-SXM", "h100-sxm"},
        std::pair{"GH200-96", "gh200-96"}, std::pair{"GB200", "gb200-gpu"},
        std::pair{"GB300", "gb300-gpu"}, std::pair{"B200", "b200-hgx"},
        std::pair{"B300", "b300-hgx"}, std::pair{"V100-16", "v100-sxm2-16"},
        std::pair{"V100-32", "v100-sxm2-32"}, std::pair{"P40", "p40"}, std::pair{"TPUv3", "tpu-v3"},
        std::pair{"TPUv4", "tpu-v4"}, std::pair{"TPUv5e", "tpu-v5e"}})
    EXPECT_EQ(device(name).id, id) << name;
}

template <class T>
void expect_source(const Device& d, const char* what, const Sourced<T>& number) {
  EXPECT_FALSE(number.source.empty()) << d.id << " has no source for " << what;
}

TEST(Devices, EveryNumberHasASource) {
  for (const Device& d : testing::non_empty(devices())) {
    expect_source(d, "memory", d.memory);
    expect_source(d, "memory bandwidth", d.memory_bandwidth);
    for (const Peak& p : testing::non_empty(d.peaks)) expect_source(d, "peak", p.rate);
    expect_source(d, "scale-up", d.scale_up);
    expect_source(d, "scale-up latency", d.scale_up_latency);
    expect_source(d, "host link", d.host_link);
    expect_source(d, "network", d.network);
    expect_source(d, "network latency", d.network_latency);
    expect_source(d, "launch", d.launch);
    expect_source(d, "message start", d.message_start);
    expect_source(d, "context", d.context);
    expect_source(d, "power", d.power);
    expect_source(d, "idle power", d.idle_power);
    if (d.power.value.value > 0) {
      EXPECT_LT(d.idle_power.value.value, 0.5 * d.power.value.value) << d.id;
    }
    if (d.price_low) expect_source(d, "price", *d.price_low);
    if (d.price_high) expect_source(d, "price", *d.price_high);
    const Efficiency& e = d.efficiency;
    for (const Sourced<double>* share : {&e.product, &e.eight_bit, &e.tf32, &e.attention, &e.memory,
                                         &e.scale_up, &e.network, &e.send, &e.all_to_all}) {
      expect_source(d, "efficiency", *share);
      EXPECT_GT(share->value, 0) << d.id;
      EXPECT_LE(share->value, 1) << d.id;
    }
  }
}

// A sparse figure is twice the dense one, so dense 8-bit peaks are at most about twice the 16-bit
// ones.
TEST(Devices, PeaksAreDense) {
  for (const Device& d : testing::non_empty(devices())) {
    if (d.vendor == "NVIDIA" && supports(d, DType::F16) && supports(d, DType::F8)) {
      EXPECT_NEAR(peak(d, DType::F8).value / peak(d, DType::F16).value, 2, 0.03) << d.id;
    }
    if (supports(d, DType::F16) && supports(d, DType::BF16)) {
      EXPECT_EQ(peak(d, DType::F16).value, peak(d, DType::BF16).value) << d.id;
    }
  }
}

TEST(Devices, Tf32FallsBackToFp32AndScaledEightBitToEightBitAndNothingElse) {
  EXPECT_EQ(peak(device("v100-sxm3-32"), DType::TF32).value, 15.7e12);
  EXPECT_EQ(peak(device("h100-sxm"), DType::F8Row).value, 1978.9e12);
  EXPECT_EQ(peak(device("b200-hgx"), DType::F8Block).value, 4.5e15);
  EXPECT_FALSE(supports(device("a100-sxm-80"), DType::F8Block));
  EXPECT_FALSE(supports(device("h100-sxm"), DType::F4));
  try {
    peak(device("v100-sxm3-32"), DType::BF16);
    FAIL() << "V100 has no bf16";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::Unsupported);
    EXPECT_STREQ(error.what(),
                 "V100 32GB has no matrix products in bf16; it has fp64, fp32, fp16, int8");
  }
}

TEST(Devices, AliasesAndNearestNames) {
  EXPECT_EQ(device("h100").id, "h100-sxm");
  EXPECT_EQ(device("H100-SXM").id, "h100-sxm");
  EXPECT_EQ(device("a100-80gb").id, "a100-sxm-80");
  EXPECT_EQ(device_refusal("h100-smx"),
            "no device is called \"h100-smx\"; did you mean \"h100-sxm\"?");
  EXPECT_EQ(device_refusal("abacus"), "no device is called \"abacus\"");
}

TEST(Devices, EfficienciesOfTheFittedFamilies) {
  EXPECT_EQ(device("a100").efficiency.product.value, 0.83);
  EXPECT_EQ(device("h100").efficiency.product.value, 0.70);
  EXPECT_EQ(device("h100").efficiency.attention.value, 0.37);
  EXPECT_EQ(device("h100").launch.value, 4us);
  EXPECT_EQ(device("h100").efficiency.product.source,
            "fitted on published runs (H100 rows), 2026-11");
}

}  // namespace
}  // namespace trainyard

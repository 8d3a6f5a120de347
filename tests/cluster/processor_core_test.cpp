#include "core/cluster/processor_core.h"

#include <gtest/gtest.h>

namespace trainyard {
namespace {

TEST(ProcessorCore, CoresTogetherAreTheProcessor) {
  int processors = 0;
  for (const Device& each : devices()) {
    if (!is_processor(each)) continue;
    ++processors;
    const Device alone = core_of(each, 1), beside = core_of(each, each.units);
    for (std::size_t i = 0; i < each.peaks.size(); ++i)
      EXPECT_DOUBLE_EQ(beside.peaks[i].rate.value.value * each.units,
                       each.peaks[i].rate.value.value);
    EXPECT_DOUBLE_EQ(beside.memory_bandwidth.value.value * each.units,
                     each.memory_bandwidth.value.value);
    EXPECT_EQ(alone.memory_bandwidth, each.memory_bandwidth);
    EXPECT_EQ(alone.peaks, beside.peaks);
    EXPECT_EQ(alone.units, 1);
  }
  EXPECT_EQ(processors, 5);
  EXPECT_FALSE(is_processor(device("h100-sxm")));
}

TEST(ProcessorCore, ACoreOfThisMachineIsTheDevice) {
  EXPECT_EQ(core_of(device("cpu"), 1), device("cpu"));
  EXPECT_EQ(core_of(device("cpu"), 8), device("cpu"));
}

}  // namespace
}  // namespace trainyard

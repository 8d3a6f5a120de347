#include "core/plan/placement.h"

#include <gtest/gtest.h>

#include <vector>

namespace trainyard {
namespace {

std::vector<std::uint32_t> devices(int p, int stages, Placement placement, int copy = 0) {
  std::vector<std::uint32_t> list;
  for (std::uint32_t s = 0; s < static_cast<std::uint32_t>(stages); ++s)
    list.push_back(device_of(StageId{s}, p, stages, placement, copy).value);
  return list;
}

TEST(Placement, Cyclic) {
  EXPECT_EQ(devices(3, 6, Placement::Cyclic), (std::vector<std::uint32_t>{0, 1, 2, 0, 1, 2}));
}

TEST(Placement, ContiguousStagesShareADevice) {
  EXPECT_EQ(devices(3, 6, Placement::Contiguous), (std::vector<std::uint32_t>{0, 0, 1, 1, 2, 2}));
}

TEST(Placement, VTurnsAtTheLastDevice) {
  EXPECT_EQ(devices(3, 6, Placement::V), (std::vector<std::uint32_t>{0, 1, 2, 2, 1, 0}));
}

TEST(Placement, BidirectionalMirrorsItsSecondCopy) {
  EXPECT_EQ(devices(4, 4, Placement::Bidirectional), (std::vector<std::uint32_t>{0, 1, 2, 3}));
  EXPECT_EQ(devices(4, 4, Placement::Bidirectional, 1), (std::vector<std::uint32_t>{3, 2, 1, 0}));
  EXPECT_EQ(copies(Placement::Bidirectional), 2);
  EXPECT_EQ(copies(Placement::V), 1);
}

}  // namespace
}  // namespace trainyard

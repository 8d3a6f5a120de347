#include "core/model/dtype.h"

#include <gtest/gtest.h>

#include <set>

namespace trainyard {
namespace {

constexpr DType kAll[] = {DType::F64, DType::F32,     DType::TF32,  DType::F16,   DType::BF16,
                          DType::F8,  DType::F8Block, DType::F8Row, DType::F4,    DType::I64,
                          DType::I32, DType::I8,      DType::Bool,  DType::Flex16};

TEST(NumberFormats, AreReadAsTheyAreWritten) {
  for (const DType type : kAll) {
    EXPECT_FALSE(to_string(type).empty());
    EXPECT_EQ(parse_dtype(to_string(type)), type) << to_string(type);
  }
  EXPECT_EQ(parse_dtype("torch.float8_e4m3fn"), DType::F8);
  EXPECT_EQ(parse_dtype("fp6"), std::nullopt);
}

TEST(NumberFormats, NarrowOnesAreThoseThatOperandsAreCastTo) {
  std::set<DType> narrow_ones, eight;
  for (const DType type : kAll) {
    if (narrow(type)) narrow_ones.insert(type);
    if (eight_bit(type)) eight.insert(type);
  }
  EXPECT_EQ(narrow_ones, (std::set{DType::F8, DType::F8Block, DType::F8Row, DType::F4, DType::I8,
                                   DType::Flex16}));
  EXPECT_EQ(eight, (std::set{DType::F8, DType::F8Block, DType::F8Row}));
}

}  // namespace
}  // namespace trainyard

#include "core/model/dtype.h"

#include <gtest/gtest.h>

namespace trainyard {
namespace {

constexpr DType kAll[] = {DType::F64, DType::F32,     DType::TF32,  DType::F16, DType::BF16,
                          DType::F8,  DType::F8Block, DType::F8Row, DType::F4,  DType::I64,
                          DType::I32, DType::I8,      DType::Bool};

TEST(NumberFormats, AreReadAsTheyAreWritten) {
  for (const DType type : kAll) {
    EXPECT_FALSE(to_string(type).empty());
    EXPECT_EQ(parse_dtype(to_string(type)), type) << to_string(type);
  }
  EXPECT_EQ(parse_dtype("torch.float8_e4m3fn"), DType::F8);
  EXPECT_EQ(parse_dtype("fp6"), std::nullopt);
}

TEST(NumberFormats, NarrowOnesAreThoseOfEightBitsAndLessThatProductsRead) {
  int narrow_ones = 0, eight = 0;
  for (const DType type : kAll) {
    narrow_ones += narrow(type) ? 1 : 0;
    eight += eight_bit(type) ? 1 : 0;
    if (narrow(type)) {
      EXPECT_EQ(bytes_of(type), 1) << to_string(type);
    }
  }
  EXPECT_EQ(narrow_ones, 4);
  EXPECT_EQ(eight, 3);
  EXPECT_FALSE(narrow(DType::I8));
}

}  // namespace
}  // namespace trainyard

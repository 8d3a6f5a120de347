#include <gtest/gtest.h>

#include "core/cost/roofline.h"
#include "core/estimate/estimate.h"
#include "core/methods/layers/trained.h"
#include "core/methods/precision/narrow_products.h"
#include "tests/support/layers.h"

namespace trainyard {
namespace {

using testing::gpt;
using testing::layer;
using testing::scenario;

TEST(Flex16Method, AnElementHasTwoBytes) {
  EXPECT_EQ(narrow_bytes(DType::Flex16, 33), 66_B);
  EXPECT_EQ(bytes_of(DType::Flex16), 2);
  EXPECT_EQ(parse_dtype("flex16"), DType::Flex16);
}

}  // namespace
}  // namespace trainyard

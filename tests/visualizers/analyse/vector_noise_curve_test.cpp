// Tests the curve of the noise of weights in vectors.
#include "visualizers/analyse/vector_noise_curve.h"

#include <gtest/gtest.h>

#include <cmath>

namespace trainyard {
namespace {

TEST(VectorNoiseCurve, HasALineForEachScaleAndADashedOneForChannels) {
  const auto curve =
      vector_noise_curve({{4, 0, 0, 14}, {4, 32, 4, 18}, {4, 16, 4, 19.5}, {4, 16, 0, 20}});
  ASSERT_TRUE(curve.has_value());
  EXPECT_EQ(curve->title, "Signal of weights over the noise of 4 bits");
  EXPECT_EQ(curve->unit, "dB");
  EXPECT_EQ(curve->x, (std::vector<double>{16, 32}));
  ASSERT_EQ(curve->lines.size(), 3u);
  EXPECT_EQ(curve->lines[0].name, "scales of 4 bytes");
  EXPECT_EQ(curve->lines[0].values[0], 20);
  EXPECT_TRUE(std::isnan(curve->lines[0].values[1]));
  EXPECT_EQ(curve->lines[1].name, "scales of 4 bits");
  EXPECT_EQ(curve->lines[1].values, (std::vector<double>{19.5, 18}));
  EXPECT_EQ(curve->lines[2].values, (std::vector<double>{14, 14}));
  EXPECT_TRUE(curve->lines[2].dashed);
  EXPECT_NE(curve_words(*curve).find("scales of 4 bits"), std::string::npos);
}

TEST(VectorNoiseCurve, OneSizeOfVectorsIsNoCurve) {
  EXPECT_FALSE(vector_noise_curve({}).has_value());
  EXPECT_FALSE(vector_noise_curve({{4, 0, 0, 14}, {4, 16, 4, 19}, {4, 16, 0, 20}}).has_value());
}

}  // namespace
}  // namespace trainyard

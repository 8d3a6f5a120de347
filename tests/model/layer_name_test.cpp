#include "core/model/layer_name.h"

#include <gtest/gtest.h>

#include <iterator>

namespace trainyard {
namespace {

TEST(LayerName, IsThatOfTheBlockAndThePlaceInIt) {
  Model model;
  model.blocks = {
      {"embed_tokens", 1, false, {}}, {"layers", 3, true, {}}, {"lm_head", 1, false, {}}};
  const char* const names[] = {"embed_tokens", "layers 0", "layers 1",
                               "layers 2",     "lm_head",  "layer 5"};
  for (std::size_t l = 0; l < std::size(names); ++l) EXPECT_EQ(layer_name(model, l), names[l]);
}

}  // namespace
}  // namespace trainyard

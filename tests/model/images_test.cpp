// A model whose images are set is the one that is built with them, and wrong images are refused.
#include "core/model/images.h"

#include <gtest/gtest.h>

#include "core/io/documents/model_json.h"
#include "core/model/fields.h"
#include "core/model/patch_grid.h"
#include "core/model/zoo/zoo.h"
#include "tests/support/non_empty.h"
#include "tests/support/refusal.h"
#include "tests/support/tiny_models.h"

namespace trainyard {
namespace {

Model built(const std::string& family, std::int64_t images, std::int64_t side) {
  Model decoder = testing::tiny_transformer({.family = "llama"});
  decoder.sequence = 4096;
  return testing::tiny_vision(family, images, side, std::move(decoder));
}

TEST(Images, SettingThemIsBuildingWithThem) {
  for (const std::string& family : testing::non_empty(vision_families()))
    for (const std::int64_t images : {1, 2, 3})
      for (const std::int64_t side : {4, 8, 16}) {
        const Model wanted = built(family, images, side);
        for (const std::int64_t before : {1, 2})
          EXPECT_EQ(write_model(with_images(built(family, before, 4), images, side)),
                    write_model(wanted))
              << family << " " << images << " of " << side << " from " << before;
        EXPECT_EQ(write_model(with_images(built(family, images, 8), 0, side)), write_model(wanted));
        const std::optional<ModelImages> found = images_of(wanted);
        ASSERT_TRUE(found);
        EXPECT_EQ(found->images, images);
        EXPECT_EQ(found->side, side);
      }
}

TEST(Images, AreFieldsOfTheModel) {
  const Model model = with_model_field(zoo_model("qwen2.5-vl-7b"), {}, "image", "896");
  EXPECT_EQ(tokens_of_images(model), 1024);
  EXPECT_EQ(tokens_of_images(with_model_field(model, {}, "images", "3")), 3072);
  for (const ModelField& field : testing::non_empty(model_fields(model, {})))
    if (field.key == "image") {
      EXPECT_EQ(field.value, "896");
      EXPECT_EQ(field.low, 112);  // a window
    }
}

TEST(Images, WrongOnesAreRefused) {
  const auto refused = [](const char* name, std::int64_t images, std::int64_t side) {
    return testing::refusal([=] { with_images(zoo_model(name), images, side); });
  };
  EXPECT_EQ(refused("llama-3-8b", 2, 0),
            "llama-3-8b: expected a model that reads images and text, because images are set");
  EXPECT_EQ(refused("vit-b16", 2, 0),
            "vit-b16: expected a model that reads images and text, because images are set");
  EXPECT_EQ(refused("qwen2.5-vl-7b", 0, 1000),
            "qwen2.5-vl-7b: expected images whose side is a multiple of 112 pixels, as patches, "
            "merged patches and windows are, found 1000; the nearest is 1008");
  EXPECT_EQ(refused("qwen2.5-vl-7b", 0, 70000),
            "qwen2.5-vl-7b: expected pixels along an image from 1 to 65536, found 70000");
  EXPECT_EQ(refused("qwen2.5-vl-7b", 5000, 0),
            "qwen2.5-vl-7b: expected images of a sample from 1 to 4096, found 5000");
}

}  // namespace
}  // namespace trainyard

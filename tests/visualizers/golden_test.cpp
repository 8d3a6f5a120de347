// Compares pictures and files with golden ones that somebody has approved. With TRAINYARD_REBASE=1
// in the environment they are written anew; look at them before you commit them.
#include <gtest/gtest.h>

#include "tests/visualizers/golden.h"
#include "tests/visualizers/scene.h"
#include "visualizers/drawing/svg.h"
#include "visualizers/imgui/render.h"

namespace trainyard {
namespace {

using namespace testing_golden;

// Uses the embedded font, so that installed fonts do not matter.
Image painted(double scale, Theme theme) {
  return render(testing_scene::scene(), scale, theme, FontFiles{});
}

TEST(Golden, SceneInTheDark) { expect_golden(painted(1, Theme::Dark), "scene_dark.png"); }
TEST(Golden, SceneInTheLight) { expect_golden(painted(1, Theme::Light), "scene_light.png"); }
TEST(Golden, SceneInTheDarkAtTwoPixelsAPixel) {
  expect_golden(painted(2, Theme::Dark), "scene_dark_2x.png");
}
TEST(Golden, SceneInTheLightAtTwoPixelsAPixel) {
  expect_golden(painted(2, Theme::Light), "scene_light_2x.png");
}
TEST(Golden, SceneAtOneAndAQuarter) {
  expect_golden(painted(1.25, Theme::Dark), "scene_dark_125.png");
}

TEST(Golden, TheSameSceneGivesTheSameBytesTwice) {
  EXPECT_EQ(painted(1, Theme::Dark), painted(1, Theme::Dark));
}

TEST(Golden, SceneAsSvg) { expect_golden(testing_scene::scene(), "scene"); }

}  // namespace
}  // namespace trainyard

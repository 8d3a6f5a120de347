// Pictures and files as they were when somebody last looked at them. With TRAINYARD_REBASE=1 in the
// environment they are written anew; look at them before you commit them.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>

#include "tests/support/source_dir.h"
#include "tests/visualizers/scene.h"
#include "visualizers/png.h"
#include "visualizers/render.h"
#include "visualizers/svg.h"

namespace trainyard {
namespace {

std::string golden(const std::string& name) {
  return std::string(TRAINYARD_SOURCE_DIR) + "/tests/visualizers/golden/" + name;
}
bool rebase() { return std::getenv("TRAINYARD_REBASE") != nullptr; }

std::string read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}
void write(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

// Differing pixels white, the others black.
Image difference(const Image& a, const Image& b) {
  Image out;
  resize(out, a.width, a.height);
  for (std::size_t i = 0; i < a.rgba.size(); i += 4) {
    const bool same = std::equal(&a.rgba[i], &a.rgba[i] + 4, &b.rgba[i]);
    for (std::size_t c = 0; c < 3; ++c) out.rgba[i + c] = same ? 0 : 255;
    out.rgba[i + 3] = 255;
  }
  return out;
}

void expect_golden(const Image& found, const std::string& name) {
  if (rebase()) write(golden(name), to_png(found));
  const std::string bytes = read(golden(name));
  ASSERT_FALSE(bytes.empty()) << "no " << golden(name) << "; TRAINYARD_REBASE=1 writes it";
  const Image expected = read_png(bytes);
  ASSERT_EQ(found.width, expected.width);
  ASSERT_EQ(found.height, expected.height);
  if (found == expected) return;
  const std::string at = ::testing::TempDir() + "trainyard_";
  write(at + name, to_png(found));
  write(at + "difference_" + name, to_png(difference(found, expected)));
  ADD_FAILURE() << name << " is not what it was: see " << at << name << " and " << at
                << "difference_" << name;
}

// With the embedded font, so that no installed one matters.
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

TEST(Golden, SceneAsSvg) {
  for (const auto& [theme, name] :
       {std::pair(Theme::Dark, "scene_dark.svg"), std::pair(Theme::Light, "scene_light.svg")}) {
    const std::string found = to_svg(testing_scene::scene(), theme);
    if (rebase()) write(golden(name), found);
    EXPECT_EQ(found, read(golden(name)))
        << name << " is not what it was; TRAINYARD_REBASE=1 writes it";
  }
}

}  // namespace
}  // namespace trainyard

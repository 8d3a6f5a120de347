// Compares the Vulkan renderer with the software one, and tests the fallback when Vulkan does not
// work. If there is no driver, only the fallback is tested; TRAINYARD_REQUIRE_VULKAN=1 makes a
// missing driver a failure.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "tests/visualizers/scene.h"
#include "visualizers/imgui/canvas.h"
#include "visualizers/imgui/render.h"
#include "visualizers/imgui/vulkan_device.h"

namespace trainyard {
namespace {

class VulkanRendererTest : public ::testing::Test {
 protected:
  void SetUp() override { ::setenv("TRAINYARD_VULKAN_VALIDATION", "1", 0); }

  // Null where this machine has no Vulkan; then the reason has been checked.
  std::unique_ptr<Renderer> vulkan() {
    try {
      auto renderer = vulkan_renderer(true);
      gpu_ = current_vulkan_device();
      return renderer;
    } catch (const RendererFailure& failure) {
      EXPECT_EQ(std::getenv("TRAINYARD_REQUIRE_VULKAN"), nullptr) << failure.what();
      const auto chosen = choose_renderer(RendererChoice::Vulkan);
      EXPECT_EQ(chosen->name(), "software");
      EXPECT_EQ(chosen->why(), std::string("software: ") + failure.what());
      return nullptr;
    }
  }

  void TearDown() override {
    const std::vector<std::string> silence;
    EXPECT_EQ(gpu_ == nullptr ? silence : gpu_->messages, silence) << "the validation layer speaks";
  }

  std::shared_ptr<VulkanDevice> gpu_;
};

int distance(Rgba a, Rgba b) {
  const auto off = [](int x, int y) { return x > y ? x - y : y - x; };
  return std::max({off(a.r, b.r), off(a.g, b.g), off(a.b, b.b), off(a.a, b.a)});
}

// Returns whether the picture changes within a pixel of (x, y).
bool on_an_edge(const Image& image, int x, int y) {
  for (int v = std::max(0, y - 1); v <= std::min(image.height - 1, y + 1); ++v)
    for (int u = std::max(0, x - 1); u <= std::min(image.width - 1, x + 1); ++u)
      if (distance(pixel(image, u, v), pixel(image, x, y)) > 16) return true;
  return false;
}

void expect_same_picture(const Image& found, const Image& expected) {
  ASSERT_EQ(found.width, expected.width);
  ASSERT_EQ(found.height, expected.height);
  int different = 0, off_edges = 0;
  for (int y = 0; y < found.height; ++y)
    for (int x = 0; x < found.width; ++x)
      if (distance(pixel(found, x, y), pixel(expected, x, y)) > 16) {
        ++different;
        off_edges += !on_an_edge(expected, x, y);
      }
  ::testing::Test::RecordProperty("pixels_that_differ", different);
  EXPECT_LE(different, found.width * found.height / 200) << "0.5 %";
  EXPECT_EQ(off_edges, 0);
}

TEST_F(VulkanRendererTest, PaintsWhatTheSoftwarePaints) {
  auto renderer = vulkan();
  if (renderer == nullptr) return;
  const Drawing d = testing_scene::scene();
  Canvas canvas(std::move(renderer));
  for (const Theme theme : {Theme::Dark, Theme::Light})
    for (const double scale : {1.0, 1.25, 2.0})
      expect_same_picture(canvas.paint(d, scale, theme), render(d, scale, theme, FontFiles{}));
  EXPECT_EQ(canvas.renderer(), "Vulkan");
}

TEST_F(VulkanRendererTest, FollowsEverySizeDownToNothing) {
  auto renderer = vulkan();
  if (renderer == nullptr) return;
  Canvas canvas(std::move(renderer));
  for (const Size size :
       {Size{64, 64}, Size{640, 400}, Size{0, 0}, Size{1, 1}, Size{0, 30}, Size{333, 17}}) {
    Drawing d(size);
    fill(d, {0, 0, 5, 5}, {.ink = Ink::Forward});
    expect_same_picture(canvas.paint(d, 1, Theme::Dark), render(d, 1, Theme::Dark, FontFiles{}));
  }
  EXPECT_EQ(canvas.renderer(), "Vulkan");
}

TEST_F(VulkanRendererTest, MoreVerticesThanSixteenBitsCount) {
  auto renderer = vulkan();
  if (renderer == nullptr) return;
  Drawing d({400, 100});
  for (int i = 0; i < 20'000; ++i)
    fill(d, {static_cast<float>(2 * i % 400), static_cast<float>(i / 200), 1, 1},
         {.ink = static_cast<Ink>(i % 5)});
  Canvas canvas(std::move(renderer));
  expect_same_picture(canvas.paint(d, 1, Theme::Dark), render(d, 1, Theme::Dark, FontFiles{}));
}

TEST_F(VulkanRendererTest, ComesAndGoesTwoHundredTimes) {
  const Drawing d = testing_scene::scene();
  for (int i = 0; i < 200; ++i) {
    auto renderer = vulkan();
    if (renderer == nullptr) return;
    Canvas canvas(std::move(renderer));
    ASSERT_FALSE(canvas.paint(d, 1, Theme::Dark).empty());
    ASSERT_EQ(canvas.renderer(), "Vulkan");
  }
}

TEST_F(VulkanRendererTest, TwoCanvasesShareOneDevice) {
  auto first = vulkan();
  if (first == nullptr) return;
  Canvas one(std::move(first));
  const auto gpu = current_vulkan_device();
  Canvas two(vulkan());
  EXPECT_EQ(current_vulkan_device(), gpu);
  const Drawing d = testing_scene::scene();
  const Image before = one.paint(d, 1, Theme::Dark);
  two.paint(d, 2, Theme::Light);
  EXPECT_EQ(one.paint(d, 1, Theme::Dark), before);
}

TEST_F(VulkanRendererTest, ALostDeviceEndsInSoftwareAndANewOneCanBeHad) {
  auto renderer = vulkan();
  if (renderer == nullptr) return;
  Canvas canvas(std::move(renderer));
  const Drawing d = testing_scene::scene();
  canvas.paint(d, 1, Theme::Dark);
  const auto lost = current_vulkan_device();
  lost->forced = vk::Result::eErrorDeviceLost;
  EXPECT_EQ(canvas.paint(d, 1, Theme::Dark), render(d, 1, Theme::Dark, FontFiles{}))
      << "the same frame, by other means";
  EXPECT_EQ(canvas.renderer(), "software");
  EXPECT_NE(canvas.why().find("ErrorDeviceLost"), std::string::npos) << canvas.why();
  canvas.use(vulkan());
  EXPECT_NE(current_vulkan_device(), lost);
  canvas.paint(d, 1, Theme::Dark);
  EXPECT_EQ(canvas.renderer(), "Vulkan");
}

TEST_F(VulkanRendererTest, OutOfMemoryEndsInSoftwareToo) {
  auto renderer = vulkan();
  if (renderer == nullptr) return;
  Canvas canvas(std::move(renderer));
  current_vulkan_device()->forced = vk::Result::eErrorOutOfDeviceMemory;
  EXPECT_FALSE(canvas.paint(testing_scene::scene(), 1, Theme::Dark).empty());
  EXPECT_EQ(canvas.renderer(), "software");
}

TEST_F(VulkanRendererTest, AMissingDriverIsSaidInASentence) {
  // Newer loaders read the second name first.
  const char* const names[] = {"VK_ICD_FILENAMES", "VK_DRIVER_FILES"};
  std::vector<std::optional<std::string>> kept;
  for (const char* name : names) {
    const char* before = std::getenv(name);
    kept.push_back(before == nullptr ? std::nullopt : std::optional<std::string>(before));
    ::setenv(name, "/nonexistent", 1);
  }
  const auto renderer = choose_renderer(RendererChoice::Vulkan);
  EXPECT_EQ(renderer->name(), "software");
  EXPECT_EQ(renderer->why(), "software: no Vulkan driver found");
  for (std::size_t i = 0; i < kept.size(); ++i)
    kept[i] ? ::setenv(names[i], kept[i]->c_str(), 1) : ::unsetenv(names[i]);
}

TEST_F(VulkanRendererTest, AProcessorServesOnlyWhoAsksForVulkan) {
  auto renderer = vulkan();
  if (renderer == nullptr || gpu_->properties.deviceType != vk::PhysicalDeviceType::eCpu) return;
  EXPECT_EQ(choose_renderer(RendererChoice::Vulkan)->name(), "Vulkan");
  const auto automatic = choose_renderer(RendererChoice::Auto);
  EXPECT_EQ(automatic->name(), "software");
  EXPECT_EQ(automatic->why(), "software: Vulkan has no GPU, only a processor in its place");
}

}  // namespace
}  // namespace trainyard

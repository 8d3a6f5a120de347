#include "visualizers/imgui/canvas.h"

#include <gtest/gtest.h>
#include <imgui.h>

#include <algorithm>
#include <array>

#include "tests/visualizers/scene.h"
#include "visualizers/imgui/render.h"

namespace trainyard {
namespace {

// A renderer that draws nothing and records its calls.
class NullRenderer : public Renderer {
 public:
  std::string_view name() const override { return "null"; }
  const std::string& why() const override { return why_; }
  void use_fonts(ImFontAtlas&) override { ++uploads; }
  void render(ImDrawData&, Rgba, Image&) override {
    ++frames;
    if (fails) throw RendererFailure("the device was lost");
  }
  int uploads = 0, frames = 0;
  bool fails = false;

 private:
  std::string why_ = "a test";
};

struct Box {
  float left, top, right, bottom;
  ImU32 colour;
  friend bool operator==(const Box&, const Box&) = default;
};

// Upright rectangles of the draw lists, in order.
std::vector<Box> boxes(const ImDrawData& data) {
  std::vector<Box> found;
  for (int l = 0; l < data.CmdListsCount; ++l) {
    const ImDrawList& list = *data.CmdLists[l];
    for (const ImDrawCmd& command : list.CmdBuffer)
      for (unsigned i = 0; i + 5 < command.ElemCount; i += 6) {
        const ImDrawIdx* index = list.IdxBuffer.Data + command.IdxOffset + i;
        const ImDrawVert* vertex = list.VtxBuffer.Data + command.VtxOffset;
        const ImDrawVert &low = vertex[index[0]], &high = vertex[index[2]];
        found.push_back({low.pos.x, low.pos.y, high.pos.x, high.pos.y, low.col});
      }
  }
  return found;
}

ImU32 packed(Rgba c) { return IM_COL32(c.r, c.g, c.b, c.a); }

TEST(Canvas, ABoxIsOneRectangleInTheDarkAndHasAnOutlineInTheLight) {
  Drawing d({100, 100});
  box(d, {10, 20, 30, 40}, {.ink = Ink::Backward});
  Canvas canvas(std::make_unique<NullRenderer>());
  const ImU32 orange = packed(colour(Ink::Backward, Theme::Dark)),
              edge = packed(outline_colour(Ink::Backward, Theme::Light));
  EXPECT_EQ(boxes(canvas.build(d, 1, Theme::Dark)), (std::vector<Box>{{10, 20, 40, 60, orange}}));
  EXPECT_EQ(boxes(canvas.build(d, 2, Theme::Dark)), (std::vector<Box>{{20, 40, 80, 120, orange}}));
  EXPECT_EQ(boxes(canvas.build(d, 1, Theme::Light)), (std::vector<Box>{{10, 20, 40, 60, orange},
                                                                       {10, 20, 40, 21, edge},
                                                                       {10, 59, 40, 60, edge},
                                                                       {10, 21, 11, 59, edge},
                                                                       {39, 21, 40, 59, edge}}));
}

// More of them than 16-bit indices reach, so that a strip is split within.
TEST(Canvas, AStripIsPaintedLikeItsTilesOneByOne) {
  Drawing tiled({300, 300});
  tiled.origin = {3, 2};
  for (std::uint32_t i = 0; i < 40'000; ++i)
    tiled.tiles.push_back({{static_cast<float>(i % 200), static_cast<float>(i / 200) / 1.5f,
                            static_cast<float>(i % 7), static_cast<float>(i % 5)},
                           i,
                           ItemKind::Span,
                           i % 3 == 0 ? Ink::Communication : Ink::Backward,
                           static_cast<Tile::Kind>(i % 4 % 3)});
  strip(tiled, 0, {0, 0, 300, 300});
  Drawing plain(tiled.size);
  plain.marks = plain_marks(tiled);
  Canvas canvas(std::make_unique<NullRenderer>());
  for (const Theme theme : {Theme::Dark, Theme::Light}) {
    const std::vector<Box> one_by_one = boxes(canvas.build(plain, 1.25, theme));
    EXPECT_GT(one_by_one.size(), 20'000u);
    EXPECT_TRUE(boxes(canvas.build(tiled, 1.25, theme)) == one_by_one);
  }
}

TEST(Canvas, ThinThingsKeepAPixelAndEdgesAreWhole) {
  Drawing d({100, 100});
  fill(d, {10.2f, 5, 0.1f, 7.6f}, {.ink = Ink::Text});
  line(d, {20, 0}, {20, 50}, {.ink = Ink::Text});
  Canvas canvas(std::make_unique<NullRenderer>());
  const ImU32 white = packed(colour(Ink::Text, Theme::Dark));
  EXPECT_EQ(boxes(canvas.build(d, 1, Theme::Dark)),
            (std::vector<Box>{{10, 5, 11, 13, white}, {20, 0, 21, 50, white}}));
}

TEST(Canvas, WhatLiesOutsideItsClipIsNotDrawn) {
  Drawing d({100, 100});
  {
    const ClipScope clip(d, {0, 0, 50, 50});
    fill(d, {60, 0, 10, 10}, {.ink = Ink::Text});
    fill(d, {40, 0, 30, 10}, {.ink = Ink::Text});
  }
  Canvas canvas(std::make_unique<NullRenderer>());
  EXPECT_EQ(boxes(canvas.build(d, 1, Theme::Dark)),
            (std::vector<Box>{{40, 0, 50, 10, packed(colour(Ink::Text, Theme::Dark))}}));
}

TEST(Canvas, DashesFollowTheLine) {
  Drawing d({100, 100});
  line(d, {10, 30}, {10, 40}, {.ink = Ink::Cursor, .dash_on = 2, .dash_off = 2});
  Canvas canvas(std::make_unique<NullRenderer>());
  const auto found = boxes(canvas.build(d, 1, Theme::Dark));
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[1].top, 34);
  EXPECT_EQ(found[1].bottom, 36);
}

TEST(Canvas, PatternsMoveWithTheirOriginAndRepeat) {
  const auto hatched = [](float origin) {
    Drawing d({200, 40});
    d.origin = {origin, 0};
    hatch(d, {0, 0, 200, 40}, Pattern::Idle);
    return render(d, 1, Theme::Dark, FontFiles{});
  };
  const Image at0 = hatched(0), at3 = hatched(3), at8 = hatched(8);
  EXPECT_EQ(at0, at8) << "a period of 8 px at scale 1";
  for (int x = 0; x + 3 < 200; ++x) ASSERT_EQ(pixel(at0, x, 17), pixel(at3, x + 3, 17)) << x;
}

TEST(Canvas, MoreVerticesThanSixteenBitsCount) {
  Drawing d({1000, 1000});
  for (int i = 0; i < 40'000; ++i)
    fill(d, {static_cast<float>(i % 1000), static_cast<float>(i / 1000), 1, 1},
         {.ink = i % 2 == 0 ? Ink::Forward : Ink::Backward});
  const Image image = render(d, 1, Theme::Dark, FontFiles{});
  for (const int i : {0, 1, 16'383, 16'384, 39'999})
    EXPECT_EQ(pixel(image, i % 1000, i / 1000),
              colour(i % 2 == 0 ? Ink::Forward : Ink::Backward, Theme::Dark))
        << i;
}

TEST(Canvas, FontsAreUploadedWhenTheyChangeOnly) {
  auto owned = std::make_unique<NullRenderer>();
  NullRenderer& renderer = *owned;
  Canvas canvas(std::move(owned));
  const Drawing d = testing_scene::scene();
  canvas.paint(d, 1, Theme::Dark);
  canvas.paint(d, 1, Theme::Light);
  EXPECT_EQ(renderer.uploads, 1);
  canvas.paint(d, 2, Theme::Light);
  EXPECT_EQ(renderer.uploads, 2);
  EXPECT_EQ(renderer.frames, 3);
}

TEST(Canvas, AFailingRendererIsReplacedBySoftwareAndTheReasonIsKept) {
  auto failing = std::make_unique<NullRenderer>();
  failing->fails = true;
  Canvas canvas(std::move(failing));
  const Drawing d = testing_scene::scene();
  const Image image = canvas.paint(d, 1, Theme::Dark);
  EXPECT_EQ(canvas.renderer(), "software");
  EXPECT_EQ(canvas.why(), "software: the device was lost");
  EXPECT_EQ(image, render(d, 1, Theme::Dark, FontFiles{}));
}

TEST(Canvas, TwoCanvasesDoNotDisturbEachOther) {
  const Drawing d = testing_scene::scene();
  Canvas one(software_renderer()), two(software_renderer());
  const Image first = one.paint(d, 1, Theme::Dark);
  two.paint(d, 2, Theme::Light);
  EXPECT_EQ(one.paint(d, 1, Theme::Dark), first);
}

TEST(Canvas, AnEmptyPictureIsAnEmptyImage) {
  Canvas canvas(software_renderer());
  EXPECT_TRUE(canvas.paint(Drawing({0, 0}), 1, Theme::Dark).empty());
  EXPECT_TRUE(canvas.paint(Drawing({0, 50}), 2, Theme::Dark).empty());
  EXPECT_EQ(canvas.paint(Drawing({10, 5}), 1.25, Theme::Dark).width, 13) << "rounded up";
  EXPECT_THROW(render(Drawing({10, 10}), 0, Theme::Dark, FontFiles{}), Error);
}

TEST(Canvas, TextStandsWhereItsAlignmentSays) {
  const auto ink_columns = [](Align align) {
    Drawing d({100, 30});
    text(d, {"HHHH", {50, 15}, 13, Weight::Medium, Face::Sans, align}, {.ink = Ink::White});
    const Image image = render(d, 1, Theme::Dark, FontFiles{});
    int first = 100, last = 0, top = 30, bottom = 0;
    for (int y = 0; y < 30; ++y)
      for (int x = 0; x < 100; ++x)
        if (pixel(image, x, y) == colour(Ink::White, Theme::Dark))
          first = std::min(first, x), last = std::max(last, x), top = std::min(top, y),
          bottom = std::max(bottom, y);
    return std::array{first, last, top, bottom};
  };
  const auto left = ink_columns(Align::Left), centre = ink_columns(Align::Center),
             right = ink_columns(Align::Right);
  EXPECT_GE(left[0], 50);
  EXPECT_LE(right[1], 50);
  EXPECT_NEAR((centre[0] + centre[1]) / 2.0, 50, 1);
  EXPECT_NEAR((left[2] + left[3] + 1) / 2.0, 15, 1) << "the middle of a capital";
}

TEST(Renderer, IsChosenByName) {
  EXPECT_EQ(renderer_choice("soft"), RendererChoice::Software);
  EXPECT_EQ(renderer_choice("auto"), RendererChoice::Auto);
  try {
    renderer_choice("opengl");
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "no renderer is called \"opengl\"; expected auto, vulkan or soft");
  }
}

TEST(Renderer, SoftwareAsAskedSaysSo) {
  const auto renderer = choose_renderer(RendererChoice::Software);
  EXPECT_EQ(renderer->name(), "software");
  EXPECT_EQ(renderer->why(), "software, as asked");
}

}  // namespace
}  // namespace trainyard

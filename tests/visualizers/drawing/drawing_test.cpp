#include "visualizers/drawing/drawing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "visualizers/drawing/palette.h"
#include "visualizers/drawing/svg.h"

namespace trainyard {
namespace {

TEST(Drawing, TheTopmostItemIsHit) {
  Drawing d({100, 100});
  fill(d, {0, 0, 100, 100}, {.ink = Ink::Canvas});
  box(d, {10, 10, 20, 10}, {.ink = Ink::Forward, .item = {ItemKind::Span, 1}});
  box(d, {20, 10, 20, 10}, {.ink = Ink::Backward, .item = {ItemKind::Span, 2}});
  text(d, {"B2", {22, 15}}, {.ink = Ink::Black});
  EXPECT_EQ(hit(d, {15, 15}), (Item{ItemKind::Span, 1}));
  EXPECT_EQ(hit(d, {25, 15}), (Item{ItemKind::Span, 2})) << "text is no obstacle";
  EXPECT_EQ(hit(d, {40, 15}).kind, ItemKind::None) << "half-open";
  EXPECT_EQ(hit(d, {5, 5}).kind, ItemKind::None) << "a mark without an item is not pointed at";
}

void add_strip(Drawing& d, const std::vector<Tile>& tiles) {
  const std::size_t first = d.tiles.size();
  d.tiles.insert(d.tiles.end(), tiles.begin(), tiles.end());
  strip(d, first, {0, 0, 100, 100});
}

TEST(Drawing, TilesJoinOneStripAndAreHitByThemselves) {
  Drawing d({100, 100});
  const Tile under{{10, 10, 20, 10}, 1, ItemKind::Span, Ink::Forward, Tile::Kind::Box};
  const Tile over{{20, 10, 20, 10}, 2, ItemKind::Fold, Ink::Backward, Tile::Kind::Fill};
  add_strip(d, {under, over});
  add_strip(d, {{{50, 10, 20, 10}, 3, ItemKind::Idle, Ink::Text, Tile::Kind::Idle},
                {{0, 0, 100, 100}, 0, ItemKind::None, Ink::Canvas, Tile::Kind::Fill}});
  ASSERT_EQ(d.marks.size(), 1u);
  EXPECT_EQ(d.marks[0].rect, (Rect{0, 0, 100, 100}));
  EXPECT_EQ(hit(d, {15, 15}), (Item{ItemKind::Span, 1}));
  EXPECT_EQ(hit(d, {25, 15}), (Item{ItemKind::Fold, 2}));
  EXPECT_EQ(hit(d, {55, 15}), (Item{ItemKind::Idle, 3}));
  EXPECT_EQ(hit(d, {80, 80}).kind, ItemKind::None);
  const std::vector<Mark> plain = plain_marks(d);
  ASSERT_EQ(plain.size(), 4u);
  EXPECT_EQ(plain[0].kind, MarkKind::Box);
  EXPECT_EQ(plain[1].rect, over.rect);
  EXPECT_EQ(plain[2].pattern, Pattern::Idle);
}

TEST(Drawing, AnythingBetweenTilesEndsTheirStrip) {
  Drawing d({100, 100});
  const Tile some{{10, 10, 20, 10}, 1, ItemKind::Span, Ink::Forward, Tile::Kind::Box};
  add_strip(d, {some});
  text(d, {"F1", {12, 15}}, {});
  add_strip(d, {some});
  d.origin = {3, 0};
  add_strip(d, {some});
  {
    const ClipScope clip(d, {0, 0, 50, 50});
    add_strip(d, {some});
  }
  add_strip(d, {});
  EXPECT_EQ(d.marks.size(), 5u);
  EXPECT_EQ(d.tiles.size(), 4u);
}

// One mark of every kind that keeps its parts elsewhere, and clips within clips.
void draw_all_kinds(Drawing& d) {
  fill(d, {1, 1, 5, 5}, {.ink = Ink::Grid});
  add_strip(d, {{{10, 10, 20, 10}, 7, ItemKind::Span, Ink::Forward, Tile::Kind::Box}});
  const ClipScope clip(d, {5, 5, 60, 60});
  line(d, {0, 0}, {50, 50}, {.ink = Ink::Text});
  polygon(d, {{0, 0}, {9, 0}, {4, 8}}, {.ink = Ink::Warn});
  columns(d, {10, 0, 40, 100}, {{50, 100}, {80, 100}}, {.item = {ItemKind::Wave, 9}});
  const ClipScope inner(d, {20, 20, 60, 60});
  text(d, {"B2", {22, 25}}, {.ink = Ink::Black});
  add_strip(d, {{{30, 30, 20, 10}, 8, ItemKind::Fold, Ink::Backward, Tile::Kind::Fill}});
}

TEST(Drawing, PartsAppendedLookAsIfDrawnHere) {
  Drawing whole({100, 100}), joined({100, 100});
  for (Drawing* d : {&whole, &joined}) {
    draw_all_kinds(*d);
    d->origin = {3, 4};
  }
  {
    const ClipScope clip(whole, {0, 0, 40, 90}), same(joined, {0, 0, 40, 90});
    Drawing first = part_of(joined), second = part_of(joined);
    draw_all_kinds(whole);
    draw_all_kinds(whole);
    draw_all_kinds(second);
    draw_all_kinds(first);
    append(joined, std::move(first));
    append(joined, std::move(second));
  }
  EXPECT_EQ(to_svg(joined, Theme::Dark), to_svg(whole, Theme::Dark));
  EXPECT_EQ(joined.marks.size(), whole.marks.size());
  for (float y = 0.5f; y < 100; ++y)
    for (float x = 0.5f; x < 100; ++x) ASSERT_EQ(hit(joined, {x, y}), hit(whole, {x, y}));
}

TEST(Drawing, WhatIsClippedAwayIsNotHit) {
  Drawing d({100, 100});
  {
    const ClipScope outer(d, {0, 0, 50, 100});
    const ClipScope inner(d, {40, 0, 50, 100});
    fill(d, {0, 0, 100, 100}, {.item = {ItemKind::Wave, 3}});
  }
  fill(d, {60, 0, 10, 10}, {.item = {ItemKind::Dot, 4}});
  EXPECT_EQ(hit(d, {45, 50}).tag, 3u);
  EXPECT_EQ(hit(d, {30, 50}).kind, ItemKind::None);
  EXPECT_EQ(hit(d, {55, 50}).kind, ItemKind::None);
  EXPECT_EQ(hit(d, {65, 5}).tag, 4u) << "the scope has ended";
}

TEST(Drawing, ColumnsAreHitWhereTheyAreFilled) {
  Drawing d({100, 100});
  columns(d, {10, 0, 40, 100}, {{50, 100}, {80, 100}, {0, 0}, {20, 30}},
          {.item = {ItemKind::Wave, 9}});
  EXPECT_EQ(hit(d, {12, 60}).tag, 9u);
  EXPECT_EQ(hit(d, {22, 60}).kind, ItemKind::None);
  EXPECT_EQ(hit(d, {32, 0}).kind, ItemKind::None) << "an empty column";
  EXPECT_EQ(hit(d, {49, 25}).tag, 9u);
  EXPECT_EQ(hit(d, {50, 25}).kind, ItemKind::None);
}

TEST(Drawing, LinesArePointedAtFromNearby) {
  Drawing d({100, 100});
  polyline(d, {{10, 50}, {50, 50}, {50, 10}}, {.item = {ItemKind::Cursor, 1}});
  EXPECT_EQ(hit(d, {30, 52.9f}).tag, 1u);
  EXPECT_EQ(hit(d, {30, 53.5f}).kind, ItemKind::None);
  EXPECT_EQ(hit(d, {52, 20}).tag, 1u);
}

TEST(Drawing, PolygonsAndCirclesHaveTheirShape) {
  Drawing d({100, 100});
  peak_marker(d, {50, 50}, {.item = {ItemKind::Peak, 1}});
  disc(d, {20, 20}, 5, {.item = {ItemKind::Dot, 2}});
  EXPECT_EQ(hit(d, {50, 45}).tag, 1u);
  EXPECT_EQ(hit(d, {47, 49}).kind, ItemKind::None) << "beside the tip";
  EXPECT_EQ(hit(d, {24, 20}).tag, 2u);
  EXPECT_EQ(hit(d, {24, 24}).kind, ItemKind::None);
}

TEST(Palette, HasTheColoursOfOkabeAndItoInBothThemes) {
  for (const Theme theme : {Theme::Dark, Theme::Light}) {
    EXPECT_EQ(hex(colour(Ink::Forward, theme)), "#0072B2");
    EXPECT_EQ(hex(colour(Ink::Backward, theme)), "#E69F00");
    EXPECT_EQ(hex(colour(Ink::WeightGradient, theme)), "#56B4E9");
    EXPECT_EQ(hex(colour(Ink::Recompute, theme)), "#F0E442");
    EXPECT_EQ(hex(colour(Ink::Communication, theme)), "#CC79A7");
    EXPECT_EQ(hex(colour(Ink::Optimizer, theme)), "#009E73");
    EXPECT_EQ(hex(colour(Ink::Swap, theme)), "#D55E00");
  }
}

TEST(Palette, TheLightThemeOutlinesDataAThirdDarker) {
  EXPECT_TRUE(outlined(Ink::Recompute, Theme::Light));
  EXPECT_FALSE(outlined(Ink::Recompute, Theme::Dark));
  EXPECT_FALSE(outlined(Ink::Grid, Theme::Light));
  EXPECT_EQ(hex(outline_colour(Ink::Backward, Theme::Light)), "#8F6300");
  EXPECT_EQ(hex(outline_colour(Ink::Forward, Theme::Light)), "#00476E");
}

TEST(Palette, LabelsAreWhiteOnBlueOnly) {
  EXPECT_EQ(label_ink(Ink::Forward), Ink::White);
  for (const Ink ink : {Ink::Backward, Ink::WeightGradient, Ink::Recompute, Ink::Communication,
                        Ink::Optimizer, Ink::Swap})
    EXPECT_EQ(label_ink(ink), Ink::Black);
}

// Contrast as WCAG 2 defines it; the floor of the design is 5.1 : 1 for text on the canvas.
double luminance(Rgba c) {
  const auto linear = [](int v) {
    return v <= 10 ? v / 255.0 / 12.92 : std::pow((v / 255.0 + 0.055) / 1.055, 2.4);
  };
  return 0.2126 * linear(c.r) + 0.7152 * linear(c.g) + 0.0722 * linear(c.b);
}
double contrast(Rgba a, Rgba b) {
  const double x = luminance(a) + 0.05, y = luminance(b) + 0.05;
  return std::max(x, y) / std::min(x, y);
}

TEST(Palette, TextIsReadableOnTheCanvas) {
  for (const Theme theme : {Theme::Dark, Theme::Light})
    for (const Ink ink :
         {Ink::Text, Ink::Text2, Ink::Text3, Ink::Accent, Ink::Ok, Ink::Warn, Ink::Error})
      EXPECT_GE(contrast(colour(ink, theme), colour(Ink::Canvas, theme)), 5.1)
          << static_cast<int>(ink);
}

}  // namespace
}  // namespace trainyard

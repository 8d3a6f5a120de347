#include "visualizers/memory/arena_view.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "tests/support/non_empty.h"

namespace trainyard {
namespace {

// MiniMalloc's five buffers of 4 within 12, and one that is never there.
ArenaModel five(std::optional<Bytes> capacity) {
  const std::vector<Lifetime> lives = {{0, 3, 4_B},  {3, 9, 4_B},  {0, 9, 4_B},
                                       {9, 21, 4_B}, {0, 21, 4_B}, {7, 7, 4_B}};
  return arena_model("five.csv", {"b1", "b2", "b3", "b4", "b5", "never"}, lives, solve_arena(lives),
                     capacity);
}

std::map<std::uint64_t, Mark> cells(const Drawing& drawing) {
  std::map<std::uint64_t, Mark> found;
  for (const Mark& mark : plain_marks(drawing))
    if (mark.style.item.kind == ItemKind::Cell) {
      EXPECT_FALSE(found.contains(mark.style.item.tag));
      found.emplace(mark.style.item.tag, mark);
    }
  return found;
}

TEST(ArenaView, ABlockABufferAndNoTwoOverlap) {
  const ArenaModel model = five(12_B);
  Drawing drawing(kArenaSize);
  draw_arena(drawing, {0, 0, kArenaSize.width, kArenaSize.height}, model, {});
  const std::map<std::uint64_t, Mark> blocks = cells(drawing);
  ASSERT_EQ(blocks.size(), 5u);
  const float instant = blocks.at(0).rect.width / 3, byte = blocks.at(0).rect.height / 4;
  for (const auto& [i, mark] : testing::non_empty(blocks)) {
    const Lifetime& life = model.lives[i];
    EXPECT_NEAR(mark.rect.width, instant * static_cast<float>(life.to - life.from), 0.01);
    EXPECT_NEAR(mark.rect.height, byte * 4, 0.01);
    EXPECT_EQ(mark.style.ink == Ink::MemoryWeights, life.from < 9) << i;  // alive at the fullest
    for (const auto& [j, other] : testing::non_empty(blocks)) {
      if (j == i) continue;
      const Rect both = intersect(mark.rect, other.rect);
      EXPECT_LT(both.width * both.height, 1) << i << " " << j;
    }
  }
  const auto capacity =
      std::count_if(drawing.marks.begin(), drawing.marks.end(),
                    [](const Mark& mark) { return mark.style.item.kind == ItemKind::Capacity; });
  EXPECT_EQ(capacity, 1);
}

TEST(ArenaView, WhatIsAlive) {
  const ArenaModel model = five({});
  const std::vector<std::pair<std::int64_t, Bytes>> alive = {
      {0, 12_B}, {3, 12_B}, {9, 8_B}, {21, 0_B}};
  EXPECT_EQ(model.alive, alive);
}

TEST(ArenaView, SaysWhatAnItemIs) {
  const ArenaModel model = five(11_B);
  const Hover hover = describe_arena(model, {ItemKind::Cell, 3});
  EXPECT_EQ(hover.title, "b4");
  EXPECT_EQ(hover.where, "from 9 until 21");
  EXPECT_EQ(hover.value, "4 B");
  EXPECT_EQ(describe_arena(model, {ItemKind::Capacity, 0}).lines.front(), "1 B too much");
  EXPECT_EQ(describe_arena(five(20_B), {ItemKind::Capacity, 0}).lines.front(), "8 B left");
  EXPECT_EQ(describe_arena(model, {ItemKind::Cell, 99}).title, "");
}

TEST(ArenaView, NothingSaysSo) {
  Drawing drawing({300, 200});
  draw_arena(drawing, {0, 0, 300, 200}, arena_model("no.csv", {}, {}, solve_arena({}), {}), {});
  ASSERT_FALSE(drawing.labels.empty());
  EXPECT_EQ(drawing.labels.back().text, "nothing is ever there");
}

}  // namespace
}  // namespace trainyard

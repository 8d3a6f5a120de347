#include "visualizers/imgui/input_queue.h"

#include <gtest/gtest.h>

#include <random>

namespace trainyard {
namespace {

using Kind = InputEvent::Kind;

InputEvent move(float x, float y) { return {.kind = Kind::Move, .at = {x, y}}; }
InputEvent button(bool down, std::size_t which = 0) {
  return {.kind = Kind::Button, .button = which, .down = down};
}

TEST(InputQueue, NoClickIsLostHoweverFewTheFrames) {
  InputQueue queue;
  std::mt19937 random(1);
  std::vector<Point> clicks;
  for (int i = 0; i < 1000; ++i) {
    clicks.push_back({static_cast<float>(random() % 1000), static_cast<float>(random() % 500)});
    queue.push(move(clicks.back().x, clicks.back().y));
    queue.push(button(true));
    queue.push(button(false));
  }
  std::vector<Point> pressed, released;
  int frames = 0;
  while (queue.pending()) {
    const InputFrame frame = queue.next_frame();
    ++frames;
    if (frame.pressed[0]) pressed.push_back(frame.at);
    if (frame.released[0]) released.push_back(frame.at);
    EXPECT_EQ(frame.pressed[0], frame.down[0]);
  }
  EXPECT_EQ(pressed, clicks) << "where the pointer was";
  EXPECT_EQ(released, clicks);
  EXPECT_LE(frames, 3 * 1000);
}

TEST(InputQueue, MovesAreMergedButNotAcrossAButton) {
  InputQueue queue;
  queue.push(move(1, 1));
  queue.push(move(2, 2));
  queue.push(button(true));
  queue.push(move(3, 3));
  queue.push(move(4, 4));
  EXPECT_EQ(queue.next_frame().at, (Point{2, 2}));
  EXPECT_EQ(queue.next_frame().at, (Point{4, 4}));
  EXPECT_FALSE(queue.pending());
}

TEST(InputQueue, WheelTurnsAddUpWhileTheModifiersStay) {
  InputQueue queue;
  queue.push({.kind = Kind::Wheel, .dy = 1});
  queue.push({.kind = Kind::Wheel, .dy = 2});
  queue.push({.kind = Kind::Wheel, .dy = 4, .modifiers = kControl});
  const InputFrame plain = queue.next_frame(), zoom = queue.next_frame();
  EXPECT_EQ(plain.wheel_y, 3);
  EXPECT_EQ(plain.modifiers, 0);
  EXPECT_EQ(zoom.wheel_y, 4);
  EXPECT_EQ(zoom.modifiers, kControl);
  EXPECT_EQ(queue.next_frame().wheel_y, 0) << "the wheel does not last";
}

TEST(InputQueue, TwoButtonsShareAFrame) {
  InputQueue queue;
  queue.push(button(true, 0));
  queue.push(button(true, 2));
  queue.push(button(false, 7));
  const InputFrame frame = queue.next_frame();
  EXPECT_TRUE(frame.pressed[0] && frame.pressed[2]);
  EXPECT_FALSE(queue.pending()) << "a button that does not exist is no event";
}

TEST(InputQueue, KeysTextFocusAndLeaving) {
  InputQueue queue;
  queue.push({.kind = Kind::Focus, .down = true});
  queue.push({.kind = Kind::Key, .down = true, .key = 'W'});
  queue.push({.kind = Kind::Text, .text = "w"});
  queue.push({.kind = Kind::Key, .down = false, .key = 'W'});
  queue.push({.kind = Kind::Key, .down = true, .key = 'W'});
  const InputFrame first = queue.next_frame();
  EXPECT_TRUE(first.focused);
  EXPECT_EQ(first.keys, std::vector<int>{'W'});
  EXPECT_EQ(first.text, "w");
  EXPECT_TRUE(queue.next_frame().keys.empty()) << "the release";
  EXPECT_EQ(queue.next_frame().keys, std::vector<int>{'W'}) << "pressed again";
  queue.push(move(5, 5));
  EXPECT_TRUE(queue.next_frame().inside);
  queue.push({.kind = Kind::Leave});
  const InputFrame left = queue.next_frame();
  EXPECT_FALSE(left.inside);
  EXPECT_EQ(left.at, (Point{5, 5}));
}

}  // namespace
}  // namespace trainyard

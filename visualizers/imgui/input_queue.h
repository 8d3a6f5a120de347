// The queue between a window system, which sends events, and a frame, which sees state as Dear
// ImGui 1.86 does: a press and a release between two frames would be lost. One frame takes events
// up to the second change of the same button.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "visualizers/drawing/drawing.h"

namespace trainyard {

inline constexpr std::size_t kButtons = 3;  // left, right, middle

enum Modifier : std::uint8_t { kShift = 1, kControl = 2, kAlt = 4 };

struct InputEvent {
  enum class Kind : std::uint8_t { Move, Button, Wheel, Key, Text, Leave, Focus } kind = Kind::Move;
  Point at{};                  // Move: logical px
  std::size_t button = 0;      // Button: 0 left, 1 right, 2 middle; others are ignored
  bool down = false;           // Button, Key; Focus: gained
  bool twice = false;          // Button: the second press of a double click
  float dx = 0, dy = 0;        // Wheel: notches to the right and away from the user
  int key = 0;                 // Key: the window system's code
  std::uint8_t modifiers = 0;  // of Modifier; every kind has them
  std::string text{};          // Text: UTF-8
};

/// What one frame sees.
struct InputFrame {
  Point at{};           // where the pointer is or was last
  bool inside = false;  // the pointer is over the canvas
  bool focused = false;
  std::array<bool, kButtons> down{};      // after this frame's events
  std::array<bool, kButtons> pressed{};   // went down in this frame
  std::array<bool, kButtons> released{};  // went up in this frame
  bool twice = false;                     // the left button's press was the second of two
  float wheel_x = 0, wheel_y = 0;
  std::uint8_t modifiers = 0;
  std::vector<int> keys{};  // pressed in this frame, in order
  std::string text{};
};

class InputQueue {
 public:
  /// Consecutive moves are merged, also consecutive turns of the wheel with the same modifiers;
  /// nothing is merged across another event.
  void push(InputEvent);
  /// Takes what one frame may see. Stops before the second change of a button or key, before a move
  /// after a change of a button (a click belongs to the place where it was made), and before a
  /// change of modifiers after anything else.
  InputFrame next_frame();
  /// True when another frame is needed at once.
  bool pending() const { return !events_.empty(); }

 private:
  std::deque<InputEvent> events_;
  InputFrame held_;  // what lasts from frame to frame
};

}  // namespace trainyard

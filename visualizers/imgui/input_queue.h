// The queue between a window system and Dear ImGui 1.86, which knows input as state, not as events:
// a press and a release between two frames would be lost. One frame takes events up to the second
// change of the same button.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "visualizers/drawing.h"

namespace trainyard {

struct InputEvent {
  enum class Kind : std::uint8_t { Move, Button, Wheel, Key, Text, Leave, Focus } kind = Kind::Move;
  Point at{};                  // Move: logical px
  int button = 0;              // Button: 0 left, 1 right, 2 middle
  bool down = false;           // Button, Key; Focus: gained
  float dx = 0, dy = 0;        // Wheel: notches to the right and away from the user
  int key = 0;                 // Key: the window system's code
  std::uint8_t modifiers = 0;  // Modifier bits, all kinds
  std::string text{};          // Text: UTF-8
};

enum Modifier : std::uint8_t { kShift = 1, kControl = 2, kAlt = 4 };

/// What one frame sees.
struct InputFrame {
  Point at{};
  bool inside = false;  // the pointer is over the canvas
  bool focused = false;
  bool down[3] = {};
  bool pressed[3] = {};   // went down in this frame
  bool released[3] = {};  // went up in this frame
  float wheel_x = 0, wheel_y = 0;
  std::uint8_t modifiers = 0;
  std::vector<int> keys{};  // pressed in this frame, in order
  std::string text{};
};

class InputQueue {
 public:
  /// Consecutive moves are merged, also consecutive turns of the wheel with the same modifiers;
  /// nothing is merged across a button.
  void push(InputEvent);
  /// Takes what one frame may see. Stops before a second change of a button or key, before a move
  /// after a change of a button, and before a change of modifiers once something happened.
  InputFrame next_frame();
  /// True when another frame is needed at once.
  bool pending() const { return !events_.empty(); }

 private:
  std::deque<InputEvent> events_;
  InputFrame state_;  // what is held from frame to frame
};

}  // namespace trainyard

#include "visualizers/imgui/input_queue.h"

#include <algorithm>

namespace trainyard {
namespace {

using Kind = InputEvent::Kind;

// What has happened in the frame so far, as far as it decides where the frame ends.
struct Progress {
  bool anything = false;
  bool button = false;
  std::array<bool, kButtons> buttons{};
  std::vector<int> keys{};
};

bool ends_frame(const InputEvent& event, const InputFrame& frame, const Progress& so_far) {
  if (so_far.anything && event.modifiers != frame.modifiers) return true;
  switch (event.kind) {
    case Kind::Move:
    case Kind::Leave:
      return so_far.button;
    case Kind::Button:
      return so_far.buttons[event.button];
    case Kind::Key:
      return std::find(so_far.keys.begin(), so_far.keys.end(), event.key) != so_far.keys.end();
    default:
      return false;
  }
}

void press(const InputEvent& event, InputFrame& frame, Progress& so_far) {
  if (frame.down[event.button] == event.down) return;
  frame.down[event.button] = event.down;
  (event.down ? frame.pressed : frame.released)[event.button] = true;
  frame.twice |= event.down && event.twice && event.button == 0;
  so_far.button = so_far.buttons[event.button] = true;
}

void apply(const InputEvent& event, InputFrame& frame, Progress& so_far) {
  frame.modifiers = event.modifiers;
  so_far.anything = true;
  switch (event.kind) {
    case Kind::Move:
      frame.at = event.at;
      frame.inside = true;
      break;
    case Kind::Button:
      press(event, frame, so_far);
      break;
    case Kind::Wheel:
      frame.wheel_x += event.dx;
      frame.wheel_y += event.dy;
      break;
    case Kind::Key:
      so_far.keys.push_back(event.key);
      if (event.down) frame.keys.push_back(event.key);
      break;
    case Kind::Text:
      frame.text += event.text;
      break;
    case Kind::Leave:
      frame.inside = false;
      break;
    case Kind::Focus:
      frame.focused = event.down;
      break;
  }
}

}  // namespace

void InputQueue::push(InputEvent event) {
  if (event.kind == Kind::Button && event.button >= kButtons) return;
  const bool same = !events_.empty() && events_.back().kind == event.kind &&
                    events_.back().modifiers == event.modifiers;
  if (same && event.kind == Kind::Move) {
    events_.back().at = event.at;
  } else if (same && event.kind == Kind::Wheel) {
    events_.back().dx += event.dx;
    events_.back().dy += event.dy;
  } else {
    events_.push_back(std::move(event));
  }
}

InputFrame InputQueue::next_frame() {
  InputFrame frame = held_;
  Progress so_far;
  while (!events_.empty() && !ends_frame(events_.front(), frame, so_far)) {
    apply(events_.front(), frame, so_far);
    events_.pop_front();
  }
  held_ = frame;
  held_.pressed = held_.released = {};
  held_.twice = false;
  held_.wheel_x = held_.wheel_y = 0;
  held_.keys.clear();
  held_.text.clear();
  return frame;
}

}  // namespace trainyard

// A Canvas paints Drawings with Dear ImGui: it owns one ImGui context, its fonts and a renderer,
// and hands back pixels. When the renderer fails it goes on in software and says why; it never
// aborts.
#pragma once

#include <memory>
#include <string>

#include "visualizers/drawing/drawing.h"
#include "visualizers/drawing/image.h"
#include "visualizers/imgui/fonts.h"
#include "visualizers/imgui/input_queue.h"
#include "visualizers/imgui/renderer.h"

struct ImDrawData;

namespace trainyard {

/// For one thread (that of the window). Any number may live at once.
class Canvas {
 public:
  explicit Canvas(std::unique_ptr<Renderer>, FontFiles = {});
  ~Canvas();
  Canvas(const Canvas&) = delete;
  Canvas& operator=(const Canvas&) = delete;

  /// Paints the drawing at `scale` device pixels a logical pixel (1, 1.25, 1.5, 2 ...); the image
  /// has ceil(size x scale) pixels and stays valid until the next call.
  const Image& paint(const Drawing&, double scale, Theme);
  /// Only the first half of paint: the draw lists, for tests and for measuring. Valid until the
  /// next call.
  ImDrawData& build(const Drawing&, double scale, Theme);

  /// Push events here as they come; take one frame of them before each paint, and paint again while
  /// pending().
  InputQueue& input() { return input_; }

  std::string_view renderer() const;    // "Vulkan" or "software"
  const std::string& why() const;       // for the status bar
  void use(std::unique_ptr<Renderer>);  // "try GPU again"

 private:
  struct State;
  static ImDrawData& gather(State&, std::size_t parts);
  std::unique_ptr<State> state_;
  InputQueue input_;
};

}  // namespace trainyard

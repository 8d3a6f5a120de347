// A Renderer turns the draw lists of Dear ImGui into pixels in memory. There are two: software,
// which is always there and gives the same bytes everywhere, and Vulkan, which may be missing or
// fail.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "core/base/error.h"
#include "visualizers/drawing/image.h"

struct ImDrawData;
struct ImFontAtlas;

namespace trainyard {

/// The renderer cannot go on (no driver, device lost, out of memory); what() is the reason in a
/// sentence. Whoever catches it goes on in software.
class RendererFailure : public Error {
 public:
  explicit RendererFailure(const std::string& reason) : Error(Kind::Unsupported, reason) {}
};

/// Used from one thread, with the owner's ImGui context current in every call and in the
/// destructor.
class Renderer {
 public:
  virtual ~Renderer() = default;

  virtual std::string_view name() const = 0;   // "software", "Vulkan"
  virtual const std::string& why() const = 0;  // badge: what draws and why, as in "software: no
                                               // Vulkan driver found"
  /// Reads the atlas (built; it must outlive the renderer or the next call). Before the first
  /// render and after every change.
  virtual void use_fonts(ImFontAtlas&) = 0;
  /// Blocks until the pixels are in `out`, which is resized to DisplaySize x FramebufferScale. An
  /// empty size gives an empty image. Throws RendererFailure.
  virtual void render(ImDrawData&, Rgba background, Image& out) = 0;
};

enum class RendererChoice { Auto, Vulkan, Software };

/// "auto", "vulkan", "soft"; throws Error for anything else.
RendererChoice renderer_choice(std::string_view);

/// Auto takes the first discrete GPU, then an integrated one, else software; a processor that plays
/// a GPU (lavapipe) only serves an explicit Vulkan. Never throws and never gives null: what fails
/// ends in software, and why() says so.
std::unique_ptr<Renderer> choose_renderer(RendererChoice);
std::unique_ptr<Renderer> software_renderer(std::string why = "software");
/// Throws RendererFailure. allow_cpu: also take a device that is a processor.
std::unique_ptr<Renderer> vulkan_renderer(bool allow_cpu);

}  // namespace trainyard

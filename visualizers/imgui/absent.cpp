// Stands in for the Vulkan renderer in a build without it.
#include "visualizers/imgui/renderer.h"

namespace trainyard {

std::unique_ptr<Renderer> vulkan_renderer(bool) {
  throw RendererFailure("this build has no Vulkan");
}

}  // namespace trainyard

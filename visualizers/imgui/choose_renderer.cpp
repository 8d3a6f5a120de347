#include "visualizers/imgui/renderer.h"

namespace trainyard {

RendererChoice renderer_choice(std::string_view text) {
  if (text == "auto") return RendererChoice::Auto;
  if (text == "vulkan") return RendererChoice::Vulkan;
  if (text == "soft") return RendererChoice::Software;
  throw Error(Error::Kind::InvalidInput,
              "no renderer is called \"" + std::string(text) + "\"; expected auto, vulkan or soft");
}

std::unique_ptr<Renderer> choose_renderer(RendererChoice choice) {
  if (choice == RendererChoice::Software) return software_renderer("software, as asked");
  try {
    return vulkan_renderer(choice == RendererChoice::Vulkan);
  } catch (const RendererFailure& failure) {
    return software_renderer(std::string("software: ") + failure.what());
  }
}

}  // namespace trainyard

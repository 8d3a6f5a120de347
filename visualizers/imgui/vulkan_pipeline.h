// How a draw list of Dear ImGui becomes pixels: one render pass into an image that is then copied
// out, one pipeline.
#pragma once

#include "visualizers/imgui/vulkan_device.h"

namespace trainyard {

inline constexpr vk::Format kTargetFormat = vk::Format::eR8G8B8A8Unorm;  // UNORM: colours are not
                                                                         // encoded twice

/// Device pixels to clip space; the push constant of the vertex shader.
struct PixelMap {
  float scale[2];
  float shift[2];
};

struct VulkanPipeline {
  vk::raii::RenderPass pass = nullptr;
  vk::raii::Sampler sampler = nullptr;
  vk::raii::DescriptorSetLayout set_layout = nullptr;
  vk::raii::DescriptorPool pool = nullptr;
  vk::raii::DescriptorSets sets = nullptr;  // one, for the texture
  vk::raii::PipelineLayout layout = nullptr;
  vk::raii::Pipeline pipeline = nullptr;
};

VulkanPipeline vulkan_pipeline(const VulkanDevice&);
void bind_texture(const VulkanDevice&, const VulkanPipeline&, const vk::raii::ImageView&);

}  // namespace trainyard

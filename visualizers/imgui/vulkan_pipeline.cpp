#include "visualizers/imgui/vulkan_pipeline.h"

#include <imgui.h>

#include <array>
#include <cstddef>

namespace trainyard {
namespace {

constexpr std::uint32_t kVertexShader[] = {
#include "draw_list.vert.inc"
};
constexpr std::uint32_t kFragmentShader[] = {
#include "draw_list.frag.inc"
};

vk::raii::RenderPass make_pass(const VulkanDevice& gpu) {
  const vk::AttachmentDescription target(
      {}, kTargetFormat, vk::SampleCountFlagBits::e1, vk::AttachmentLoadOp::eClear,
      vk::AttachmentStoreOp::eStore, vk::AttachmentLoadOp::eDontCare,
      vk::AttachmentStoreOp::eDontCare, vk::ImageLayout::eUndefined,
      vk::ImageLayout::eTransferSrcOptimal);
  const vk::AttachmentReference reference(0, vk::ImageLayout::eColorAttachmentOptimal);
  const vk::SubpassDescription subpass({}, vk::PipelineBindPoint::eGraphics, {}, reference);
  using Stage = vk::PipelineStageFlagBits;
  using Access = vk::AccessFlagBits;
  const std::array dependencies = {
      vk::SubpassDependency(VK_SUBPASS_EXTERNAL, 0, Stage::eTransfer, Stage::eColorAttachmentOutput,
                            Access::eTransferRead, Access::eColorAttachmentWrite),
      vk::SubpassDependency(0, VK_SUBPASS_EXTERNAL, Stage::eColorAttachmentOutput, Stage::eTransfer,
                            Access::eColorAttachmentWrite, Access::eTransferRead)};
  return {gpu.device, vk::RenderPassCreateInfo({}, target, subpass, dependencies)};
}

vk::raii::Sampler make_sampler(const VulkanDevice& gpu) {
  vk::SamplerCreateInfo info({}, vk::Filter::eLinear, vk::Filter::eLinear,
                             vk::SamplerMipmapMode::eNearest);
  info.setAddressModeU(vk::SamplerAddressMode::eClampToEdge)
      .setAddressModeV(vk::SamplerAddressMode::eClampToEdge);
  return {gpu.device, info};
}

vk::raii::Pipeline make_pipeline(const VulkanDevice& gpu, const VulkanPipeline& with) {
  const vk::raii::ShaderModule vertex(gpu.device, vk::ShaderModuleCreateInfo({}, kVertexShader));
  const vk::raii::ShaderModule fragment(gpu.device,
                                        vk::ShaderModuleCreateInfo({}, kFragmentShader));
  const std::array stages = {
      vk::PipelineShaderStageCreateInfo({}, vk::ShaderStageFlagBits::eVertex, *vertex, "main"),
      vk::PipelineShaderStageCreateInfo({}, vk::ShaderStageFlagBits::eFragment, *fragment, "main")};
  const vk::VertexInputBindingDescription binding(0, sizeof(ImDrawVert));
  const std::array attributes = {vk::VertexInputAttributeDescription(
                                     0, 0, vk::Format::eR32G32Sfloat, offsetof(ImDrawVert, pos)),
                                 vk::VertexInputAttributeDescription(
                                     1, 0, vk::Format::eR32G32Sfloat, offsetof(ImDrawVert, uv)),
                                 vk::VertexInputAttributeDescription(
                                     2, 0, vk::Format::eR8G8B8A8Unorm, offsetof(ImDrawVert, col))};
  const vk::PipelineVertexInputStateCreateInfo input({}, binding, attributes);
  const vk::PipelineInputAssemblyStateCreateInfo assembly({}, vk::PrimitiveTopology::eTriangleList);
  const vk::PipelineViewportStateCreateInfo viewport({}, 1, nullptr, 1, nullptr);
  vk::PipelineRasterizationStateCreateInfo raster;
  raster.setLineWidth(1);
  const vk::PipelineMultisampleStateCreateInfo samples({}, vk::SampleCountFlagBits::e1);
  using Factor = vk::BlendFactor;
  using Channel = vk::ColorComponentFlagBits;
  const vk::PipelineColorBlendAttachmentState over(
      VK_TRUE, Factor::eSrcAlpha, Factor::eOneMinusSrcAlpha, vk::BlendOp::eAdd, Factor::eOne,
      Factor::eOneMinusSrcAlpha, vk::BlendOp::eAdd,
      Channel::eR | Channel::eG | Channel::eB | Channel::eA);
  const vk::PipelineColorBlendStateCreateInfo blend({}, VK_FALSE, vk::LogicOp::eCopy, over);
  const std::array dynamic = {vk::DynamicState::eViewport, vk::DynamicState::eScissor};
  const vk::PipelineDynamicStateCreateInfo dynamics({}, dynamic);
  return {gpu.device, nullptr,
          vk::GraphicsPipelineCreateInfo({}, stages, &input, &assembly, nullptr, &viewport, &raster,
                                         &samples, nullptr, &blend, &dynamics, *with.layout,
                                         *with.pass)};
}

}  // namespace

VulkanPipeline vulkan_pipeline(const VulkanDevice& gpu) {
  VulkanPipeline made;
  made.pass = make_pass(gpu);
  made.sampler = make_sampler(gpu);
  const vk::DescriptorSetLayoutBinding texture(0, vk::DescriptorType::eCombinedImageSampler, 1,
                                               vk::ShaderStageFlagBits::eFragment);
  made.set_layout =
      vk::raii::DescriptorSetLayout(gpu.device, vk::DescriptorSetLayoutCreateInfo({}, texture));
  const vk::DescriptorPoolSize one(vk::DescriptorType::eCombinedImageSampler, 1);
  made.pool = vk::raii::DescriptorPool(
      gpu.device,
      vk::DescriptorPoolCreateInfo(vk::DescriptorPoolCreateFlagBits::eFreeDescriptorSet, 1, one));
  made.sets = vk::raii::DescriptorSets(gpu.device,
                                       vk::DescriptorSetAllocateInfo(*made.pool, *made.set_layout));
  const vk::PushConstantRange map(vk::ShaderStageFlagBits::eVertex, 0, sizeof(PixelMap));
  made.layout =
      vk::raii::PipelineLayout(gpu.device, vk::PipelineLayoutCreateInfo({}, *made.set_layout, map));
  made.pipeline = make_pipeline(gpu, made);
  return made;
}

void bind_texture(const VulkanDevice& gpu, const VulkanPipeline& with,
                  const vk::raii::ImageView& view) {
  const vk::DescriptorImageInfo image(*with.sampler, *view,
                                      vk::ImageLayout::eShaderReadOnlyOptimal);
  gpu.device.updateDescriptorSets(
      vk::WriteDescriptorSet(*with.sets.front(), 0, 0, vk::DescriptorType::eCombinedImageSampler,
                             image),
      nullptr);
}

}  // namespace trainyard

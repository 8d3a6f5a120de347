// Draws Dear ImGui's lists into an image on the GPU and reads it back into memory that the
// processor reads fast. One frame at a time: submit, wait, copy.
#include <imgui.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "visualizers/imgui/renderer.h"
#include "visualizers/imgui/vulkan_pipeline.h"

namespace trainyard {
namespace {

constexpr std::uint64_t kPatience = 10'000'000'000;  // ns until a frame counts as lost

struct Target {
  vk::Extent2D extent{};
  DeviceImage image;
  vk::raii::Framebuffer framebuffer = nullptr;
  HostBuffer pixels;
};

class VulkanRenderer : public Renderer {
 public:
  explicit VulkanRenderer(std::shared_ptr<VulkanDevice> gpu)
      : gpu_(std::move(gpu)),
        pipeline_(vulkan_pipeline(*gpu_)),
        pool_(gpu_->device,
              vk::CommandPoolCreateInfo(vk::CommandPoolCreateFlagBits::eResetCommandBuffer,
                                        gpu_->queue_family)),
        commands_(std::move(
            vk::raii::CommandBuffers(gpu_->device, vk::CommandBufferAllocateInfo(
                                                       *pool_, vk::CommandBufferLevel::ePrimary, 1))
                .front())),
        fence_(gpu_->device, vk::FenceCreateInfo()),
        why_(std::string("Vulkan: ") + gpu_->properties.deviceName.data()) {}

  ~VulkanRenderer() override {
    // Nothing is in flight unless a submit failed half way; a lost device answers at once.
    static_cast<void>(gpu_->device.getDispatcher()->vkDeviceWaitIdle(*gpu_->device));
  }

  std::string_view name() const override { return "Vulkan"; }
  const std::string& why() const override { return why_; }

  void use_fonts(ImFontAtlas& atlas) override {
    guarded([&] { upload(atlas); });
  }

  void render(ImDrawData& data, Rgba background, Image& out) override {
    const auto length = [](float px) { return px > 0 ? static_cast<int>(std::ceil(px)) : 0; };
    resize(out, length(data.DisplaySize.x * data.FramebufferScale.x),
           length(data.DisplaySize.y * data.FramebufferScale.y));
    if (out.empty()) return;
    guarded([&] {
      fit_target(out);
      fill_buffers(data);
      record(data, background);
      submit();
      std::memcpy(out.rgba.data(), target_.pixels.mapped, out.rgba.size());
    });
  }

 private:
  // Whatever Vulkan throws becomes a RendererFailure; the device is not used again.
  template <class F>
  void guarded(F&& work) {
    try {
      work();
    } catch (const vk::SystemError& error) {
      gpu_->lost = true;
      throw RendererFailure(std::string("Vulkan gave up (") + error.what() + ")");
    }
  }

  void upload(ImFontAtlas& atlas) {
    unsigned char* texels = nullptr;
    int width = 0, height = 0;
    atlas.GetTexDataAsAlpha8(&texels, &width, &height);
    const vk::Extent2D extent(static_cast<std::uint32_t>(width),
                              static_cast<std::uint32_t>(height));
    const auto bytes = static_cast<std::size_t>(width) * static_cast<std::size_t>(height);
    using Usage = vk::ImageUsageFlagBits;
    texture_ =
        device_image(*gpu_, extent, vk::Format::eR8Unorm, Usage::eSampled | Usage::eTransferDst);
    const HostBuffer staging =
        host_buffer(*gpu_, bytes, vk::BufferUsageFlagBits::eTransferSrc, HostUse::Write);
    std::memcpy(staging.mapped, texels, bytes);
    commands_.begin({vk::CommandBufferUsageFlagBits::eOneTimeSubmit});
    using Layout = vk::ImageLayout;
    move_texture(Layout::eUndefined, Layout::eTransferDstOptimal);
    const vk::BufferImageCopy whole(0, 0, 0, {vk::ImageAspectFlagBits::eColor, 0, 0, 1}, {},
                                    {extent.width, extent.height, 1});
    commands_.copyBufferToImage(*staging.buffer, *texture_.image, Layout::eTransferDstOptimal,
                                whole);
    move_texture(Layout::eTransferDstOptimal, Layout::eShaderReadOnlyOptimal);
    submit();
    bind_texture(*gpu_, pipeline_, texture_.view);
  }

  void move_texture(vk::ImageLayout from, vk::ImageLayout to) {
    using Stage = vk::PipelineStageFlagBits;
    using Access = vk::AccessFlagBits;
    const bool filling = to == vk::ImageLayout::eTransferDstOptimal;
    const vk::ImageMemoryBarrier barrier(
        filling ? vk::AccessFlags() : Access::eTransferWrite,
        filling ? Access::eTransferWrite : Access::eShaderRead, from, to, VK_QUEUE_FAMILY_IGNORED,
        VK_QUEUE_FAMILY_IGNORED, *texture_.image, {vk::ImageAspectFlagBits::eColor, 0, 1, 0, 1});
    commands_.pipelineBarrier(filling ? Stage::eTopOfPipe : Stage::eTransfer,
                              filling ? Stage::eTransfer : Stage::eFragmentShader, {}, nullptr,
                              nullptr, barrier);
  }

  void fit_target(const Image& out) {
    const vk::Extent2D extent(static_cast<std::uint32_t>(out.width),
                              static_cast<std::uint32_t>(out.height));
    if (target_.extent == extent) return;
    Target made;
    using Usage = vk::ImageUsageFlagBits;
    made.image =
        device_image(*gpu_, extent, kTargetFormat, Usage::eColorAttachment | Usage::eTransferSrc);
    made.framebuffer = vk::raii::Framebuffer(
        gpu_->device, vk::FramebufferCreateInfo({}, *pipeline_.pass, *made.image.view, extent.width,
                                                extent.height, 1));
    made.pixels = host_buffer(*gpu_, out.rgba.size(), vk::BufferUsageFlagBits::eTransferDst,
                              HostUse::ReadBack);
    made.extent = extent;
    target_ = std::move(made);
  }

  void grow(HostBuffer& buffer, std::size_t bytes, vk::BufferUsageFlagBits usage) {
    if (buffer.size < bytes)
      buffer =
          host_buffer(*gpu_, std::max<std::size_t>(4096, bytes + bytes / 2), usage, HostUse::Write);
  }

  void fill_buffers(const ImDrawData& data) {
    grow(vertices_, static_cast<std::size_t>(data.TotalVtxCount) * sizeof(ImDrawVert),
         vk::BufferUsageFlagBits::eVertexBuffer);
    grow(indices_, static_cast<std::size_t>(data.TotalIdxCount) * sizeof(ImDrawIdx),
         vk::BufferUsageFlagBits::eIndexBuffer);
    std::byte* vertex = vertices_.mapped;
    std::byte* index = indices_.mapped;
    for (int i = 0; i < data.CmdListsCount; ++i) {
      const ImDrawList& list = *data.CmdLists[i];
      const auto vertex_bytes = static_cast<std::size_t>(list.VtxBuffer.Size) * sizeof(ImDrawVert);
      const auto index_bytes = static_cast<std::size_t>(list.IdxBuffer.Size) * sizeof(ImDrawIdx);
      if (vertex_bytes > 0) std::memcpy(vertex, list.VtxBuffer.Data, vertex_bytes);
      if (index_bytes > 0) std::memcpy(index, list.IdxBuffer.Data, index_bytes);
      vertex += vertex_bytes;
      index += index_bytes;
    }
  }

  void record(const ImDrawData& data, Rgba background) {
    const auto unit = [](std::uint8_t v) { return static_cast<float>(v) / 255.f; };
    const vk::ClearValue clear(vk::ClearColorValue(
        std::array{unit(background.r), unit(background.g), unit(background.b), 1.f}));
    commands_.begin({vk::CommandBufferUsageFlagBits::eOneTimeSubmit});
    commands_.beginRenderPass(
        vk::RenderPassBeginInfo(*pipeline_.pass, *target_.framebuffer, {{}, target_.extent}, clear),
        vk::SubpassContents::eInline);
    if (data.TotalVtxCount > 0) draw(data);
    commands_.endRenderPass();
    const vk::BufferImageCopy whole(0, 0, 0, {vk::ImageAspectFlagBits::eColor, 0, 0, 1}, {},
                                    {target_.extent.width, target_.extent.height, 1});
    commands_.copyImageToBuffer(*target_.image.image, vk::ImageLayout::eTransferSrcOptimal,
                                *target_.pixels.buffer, whole);
    const vk::MemoryBarrier readable(vk::AccessFlagBits::eTransferWrite,
                                     vk::AccessFlagBits::eHostRead);
    commands_.pipelineBarrier(vk::PipelineStageFlagBits::eTransfer,
                              vk::PipelineStageFlagBits::eHost, {}, readable, nullptr, nullptr);
  }

  void draw(const ImDrawData& data) {
    const auto width = static_cast<float>(target_.extent.width),
               height = static_cast<float>(target_.extent.height);
    commands_.bindPipeline(vk::PipelineBindPoint::eGraphics, *pipeline_.pipeline);
    commands_.bindDescriptorSets(vk::PipelineBindPoint::eGraphics, *pipeline_.layout, 0,
                                 *pipeline_.sets.front(), nullptr);
    commands_.bindVertexBuffers(0, *vertices_.buffer, vk::DeviceSize{0});
    commands_.bindIndexBuffer(*indices_.buffer, 0, vk::IndexType::eUint16);
    commands_.setViewport(0, vk::Viewport(0, 0, width, height, 0, 1));
    const ImVec2 scale = data.FramebufferScale;
    const PixelMap map = {{2 * scale.x / width, 2 * scale.y / height},
                          {-1 - 2 * data.DisplayPos.x * scale.x / width,
                           -1 - 2 * data.DisplayPos.y * scale.y / height}};
    commands_.pushConstants<PixelMap>(*pipeline_.layout, vk::ShaderStageFlagBits::eVertex, 0, map);
    std::uint32_t first_index = 0;
    std::int32_t first_vertex = 0;
    for (int i = 0; i < data.CmdListsCount; ++i) {
      const ImDrawList& list = *data.CmdLists[i];
      for (const ImDrawCmd& command : list.CmdBuffer)
        draw(command, data, first_index, first_vertex);
      first_index += static_cast<std::uint32_t>(list.IdxBuffer.Size);
      first_vertex += list.VtxBuffer.Size;
    }
  }

  void draw(const ImDrawCmd& command, const ImDrawData& data, std::uint32_t first_index,
            std::int32_t first_vertex) {
    const ImVec4 c = command.ClipRect;
    const ImVec2 scale = data.FramebufferScale;
    const int left = std::max(0, static_cast<int>((c.x - data.DisplayPos.x) * scale.x));
    const int top = std::max(0, static_cast<int>((c.y - data.DisplayPos.y) * scale.y));
    const int right = std::min(static_cast<int>(target_.extent.width),
                               static_cast<int>((c.z - data.DisplayPos.x) * scale.x));
    const int bottom = std::min(static_cast<int>(target_.extent.height),
                                static_cast<int>((c.w - data.DisplayPos.y) * scale.y));
    if (left >= right || top >= bottom || command.ElemCount == 0) return;
    commands_.setScissor(0, vk::Rect2D({left, top}, {static_cast<std::uint32_t>(right - left),
                                                     static_cast<std::uint32_t>(bottom - top)}));
    commands_.drawIndexed(command.ElemCount, 1, first_index + command.IdxOffset,
                          first_vertex + static_cast<std::int32_t>(command.VtxOffset), 0);
  }

  void submit() {
    commands_.end();
    if (gpu_->forced != vk::Result::eSuccess)
      vk::throwResultException(std::exchange(gpu_->forced, vk::Result::eSuccess), "submit");
    gpu_->queue.submit(vk::SubmitInfo({}, {}, *commands_), *fence_);
    if (gpu_->device.waitForFences(*fence_, VK_TRUE, kPatience) != vk::Result::eSuccess)
      vk::throwResultException(vk::Result::eErrorDeviceLost, "no frame within ten seconds");
    gpu_->device.resetFences(*fence_);
  }

  std::shared_ptr<VulkanDevice> gpu_;
  VulkanPipeline pipeline_;
  vk::raii::CommandPool pool_;
  vk::raii::CommandBuffer commands_;
  vk::raii::Fence fence_;
  DeviceImage texture_;
  Target target_;
  HostBuffer vertices_, indices_;
  std::string why_;
};

}  // namespace

std::unique_ptr<Renderer> vulkan_renderer(bool allow_cpu) {
  try {
    return std::make_unique<VulkanRenderer>(shared_vulkan_device(allow_cpu));
  } catch (const RendererFailure&) {
    throw;
  } catch (const vk::IncompatibleDriverError&) {
    throw RendererFailure("no Vulkan driver found");
  } catch (const std::exception& error) {
    throw RendererFailure(std::string("Vulkan does not start (") + error.what() + ")");
  }
}

}  // namespace trainyard

// The one Vulkan device that all canvases share, and memory on it. Everything here throws
// vk::SystemError when Vulkan says no; the renderer turns that into a RendererFailure.
#pragma once

#include <memory>
#include <string>
#include <vector>
#include <vulkan/vulkan_raii.hpp>

namespace trainyard {

/// Members are destroyed from the last to the first.
struct VulkanDevice {
  vk::raii::Context context;
  std::vector<std::string> messages;  // of the validation layer, where it is on
  vk::raii::Instance instance = nullptr;
  vk::raii::DebugUtilsMessengerEXT messenger = nullptr;
  vk::raii::PhysicalDevice physical = nullptr;
  vk::PhysicalDeviceProperties properties;
  std::uint32_t queue_family = 0;
  vk::raii::Device device = nullptr;
  vk::raii::Queue queue = nullptr;
  bool lost = false;                         // never use it again
  vk::Result forced = vk::Result::eSuccess;  // what the next submit shall fail with: for tests of
                                             // the fallback
};

/// The device in use, or a new one when there is none or it was lost. It lives as long as somebody
/// holds it. Prefers discrete over integrated over virtual GPUs; processors only with allow_cpu.
/// With $TRAINYARD_VULKAN_VALIDATION set the validation layer is on. Throws RendererFailure,
/// vk::SystemError or std::runtime_error.
std::shared_ptr<VulkanDevice> shared_vulkan_device(bool allow_cpu);
/// The device in use or null.
std::shared_ptr<VulkanDevice> current_vulkan_device();

/// A buffer that the processor can read and write at `mapped`, always coherent.
struct HostBuffer {
  vk::raii::Buffer buffer = nullptr;
  vk::raii::DeviceMemory memory = nullptr;
  std::byte* mapped = nullptr;
  vk::DeviceSize size = 0;
};
/// For reading back: cached memory where there is any, for uncached reads are a hundred times
/// slower.
enum class HostUse { Write, ReadBack };
HostBuffer host_buffer(const VulkanDevice&, vk::DeviceSize, vk::BufferUsageFlags, HostUse);

struct DeviceImage {
  vk::raii::Image image = nullptr;
  vk::raii::DeviceMemory memory = nullptr;
  vk::raii::ImageView view = nullptr;
};
DeviceImage device_image(const VulkanDevice&, vk::Extent2D, vk::Format, vk::ImageUsageFlags);

}  // namespace trainyard

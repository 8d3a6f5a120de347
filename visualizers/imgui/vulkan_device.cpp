#include "visualizers/imgui/vulkan_device.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <optional>

#include "visualizers/imgui/renderer.h"

namespace trainyard {
namespace {

std::weak_ptr<VulkanDevice>& current() {
  static std::weak_ptr<VulkanDevice> device;
  return device;
}

VKAPI_ATTR VkBool32 VKAPI_CALL keep_message(VkDebugUtilsMessageSeverityFlagBitsEXT,
                                            VkDebugUtilsMessageTypeFlagsEXT,
                                            const VkDebugUtilsMessengerCallbackDataEXT* data,
                                            void* messages) {
  static_cast<std::vector<std::string>*>(messages)->emplace_back(data->pMessage);
  return VK_FALSE;
}

void make_instance(VulkanDevice& gpu) {
  const bool validate = std::getenv("TRAINYARD_VULKAN_VALIDATION") != nullptr;
  const vk::ApplicationInfo application("Trainyard", 1, nullptr, 0, VK_API_VERSION_1_0);
  const std::array layers = {"VK_LAYER_KHRONOS_validation"};
  const std::array extensions = {VK_EXT_DEBUG_UTILS_EXTENSION_NAME};
  vk::InstanceCreateInfo info({}, &application);
  if (validate) info.setPEnabledLayerNames(layers).setPEnabledExtensionNames(extensions);
  gpu.instance = vk::raii::Instance(gpu.context, info);
  if (!validate) return;
  using Severity = vk::DebugUtilsMessageSeverityFlagBitsEXT;
  using Type = vk::DebugUtilsMessageTypeFlagBitsEXT;
  gpu.messenger = vk::raii::DebugUtilsMessengerEXT(
      gpu.instance, vk::DebugUtilsMessengerCreateInfoEXT({}, Severity::eWarning | Severity::eError,
                                                         Type::eValidation | Type::ePerformance,
                                                         keep_message, &gpu.messages));
}

// The first queue family that can draw; every device that can copies too.
std::optional<std::uint32_t> drawing_family(const vk::raii::PhysicalDevice& physical) {
  const auto families = physical.getQueueFamilyProperties();
  for (std::uint32_t i = 0; i < families.size(); ++i)
    if (families[i].queueFlags & vk::QueueFlagBits::eGraphics) return i;
  return std::nullopt;
}

// Smaller is better; none: not to be used.
std::optional<int> rank(vk::PhysicalDeviceType type, bool allow_cpu) {
  switch (type) {
    case vk::PhysicalDeviceType::eDiscreteGpu:
      return 0;
    case vk::PhysicalDeviceType::eIntegratedGpu:
      return 1;
    case vk::PhysicalDeviceType::eVirtualGpu:
      return 2;
    case vk::PhysicalDeviceType::eCpu:
      return allow_cpu ? std::optional(3) : std::nullopt;
    default:
      return std::nullopt;
  }
}

void pick_physical(VulkanDevice& gpu, bool allow_cpu) {
  std::optional<int> best;
  bool only_cpu = false;
  for (const vk::raii::PhysicalDevice& candidate : vk::raii::PhysicalDevices(gpu.instance)) {
    const vk::PhysicalDeviceProperties properties = candidate.getProperties();
    const std::optional<int> place = rank(properties.deviceType, allow_cpu);
    const std::optional<std::uint32_t> family = drawing_family(candidate);
    only_cpu |= properties.deviceType == vk::PhysicalDeviceType::eCpu;
    if (!place || !family || (best && *best <= *place)) continue;
    best = place;
    gpu.physical = candidate;
    gpu.properties = properties;
    gpu.queue_family = *family;
  }
  if (best) return;
  throw RendererFailure(only_cpu ? "Vulkan has no GPU, only a processor in its place"
                                 : "no Vulkan device can draw");
}

void make_device(VulkanDevice& gpu) {
  const float priority = 1;
  const vk::DeviceQueueCreateInfo queue({}, gpu.queue_family, 1, &priority);
  gpu.device = vk::raii::Device(gpu.physical, vk::DeviceCreateInfo({}, queue));
  gpu.queue = gpu.device.getQueue(gpu.queue_family, 0);
}

std::optional<std::uint32_t> memory_type(const VulkanDevice& gpu, std::uint32_t allowed,
                                         vk::MemoryPropertyFlags wanted) {
  const vk::PhysicalDeviceMemoryProperties memory = gpu.physical.getMemoryProperties();
  for (std::uint32_t i = 0; i < memory.memoryTypeCount; ++i)
    if ((allowed >> i & 1) != 0 && (memory.memoryTypes[i].propertyFlags & wanted) == wanted)
      return i;
  return std::nullopt;
}

// The first of the wishes that some allowed type of memory grants; one always does by the rules of
// Vulkan.
vk::raii::DeviceMemory allocate(const VulkanDevice& gpu, const vk::MemoryRequirements& needs,
                                std::initializer_list<vk::MemoryPropertyFlags> wishes) {
  for (const vk::MemoryPropertyFlags wish : wishes)
    if (const auto type = memory_type(gpu, needs.memoryTypeBits, wish))
      return {gpu.device, vk::MemoryAllocateInfo(needs.size, *type)};
  throw RendererFailure("the Vulkan device has no memory of the kind that is needed");
}

}  // namespace

std::shared_ptr<VulkanDevice> current_vulkan_device() { return current().lock(); }

std::shared_ptr<VulkanDevice> shared_vulkan_device(bool allow_cpu) {
  if (auto device = current().lock(); device && !device->lost) {
    if (!rank(device->properties.deviceType, allow_cpu))
      throw RendererFailure("Vulkan has no GPU, only a processor in its place");
    return device;
  }
  auto gpu = std::make_shared<VulkanDevice>();
  make_instance(*gpu);
  pick_physical(*gpu, allow_cpu);
  make_device(*gpu);
  current() = gpu;
  return gpu;
}

HostBuffer host_buffer(const VulkanDevice& gpu, vk::DeviceSize size, vk::BufferUsageFlags usage,
                       HostUse use) {
  using Memory = vk::MemoryPropertyFlagBits;
  const vk::MemoryPropertyFlags plain = Memory::eHostVisible | Memory::eHostCoherent;
  HostBuffer made;
  made.size = size;
  made.buffer = vk::raii::Buffer(gpu.device, vk::BufferCreateInfo({}, size, usage));
  const vk::MemoryRequirements needs = made.buffer.getMemoryRequirements();
  made.memory = use == HostUse::ReadBack
                    ? allocate(gpu, needs, {plain | Memory::eHostCached, plain})
                    : allocate(gpu, needs, {plain});
  made.buffer.bindMemory(*made.memory, 0);
  made.mapped = static_cast<std::byte*>(made.memory.mapMemory(0, size));
  return made;
}

DeviceImage device_image(const VulkanDevice& gpu, vk::Extent2D extent, vk::Format format,
                         vk::ImageUsageFlags usage) {
  DeviceImage made;
  made.image = vk::raii::Image(
      gpu.device,
      vk::ImageCreateInfo({}, vk::ImageType::e2D, format, {extent.width, extent.height, 1}, 1, 1,
                          vk::SampleCountFlagBits::e1, vk::ImageTiling::eOptimal, usage));
  made.memory = allocate(gpu, made.image.getMemoryRequirements(),
                         {vk::MemoryPropertyFlagBits::eDeviceLocal, {}});
  made.image.bindMemory(*made.memory, 0);
  made.view = vk::raii::ImageView(
      gpu.device, vk::ImageViewCreateInfo({}, *made.image, vk::ImageViewType::e2D, format, {},
                                          {vk::ImageAspectFlagBits::eColor, 0, 1, 0, 1}));
  return made;
}

}  // namespace trainyard

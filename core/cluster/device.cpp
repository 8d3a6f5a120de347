#include "core/cluster/device.h"

#include <algorithm>
#include <cctype>

#include "core/base/error.h"
#include "core/base/nearest.h"

namespace trainyard {
namespace {

struct Alias {
  std::string_view name, id;
};

// Short names that people use for a device when they mean its usual form.
constexpr Alias kAliases[] = {
    {"v100", "v100-sxm3-32"},
    {"v100-16gb", "v100-sxm2-16"},
    {"v100-32gb", "v100-sxm3-32"},
    {"v100-16", "v100-sxm2-16"},
    {"v100-32", "v100-sxm2-32"},
    {"dgx-2h", "v100-sxm3-32-450w"},
    {"a100-40", "a100-sxm-40"},
    {"a100-80", "a100-sxm-80"},
    {"a800", "a800-sxm-80"},
    {"h800", "h800-sxm"},
    {"h100-96", "h100-sxm-96"},
    {"h100-96-hbm2e-500w", "h100-sxm-96"},
    {"gh200-alps", "gh200-96-quad"},
    {"gb300", "gb300-gpu"},
    {"gb300-nvl72", "gb300-gpu"},
    {"p100", "p100-pcie-16"},
    {"rtx-2080-ti", "rtx2080ti"},
    {"tpuv2", "tpu-v2"},
    {"tpuv3", "tpu-v3"},
    {"tpuv4", "tpu-v4"},
    {"tpuv5e", "tpu-v5e"},
    {"tpuv5p", "tpu-v5p"},
    {"tpuv6e", "tpu-v6e"},
    {"a100", "a100-sxm-80"},
    {"a100-40gb", "a100-sxm-40"},
    {"a100-80gb", "a100-sxm-80"},
    {"a100-sxm", "a100-sxm-80"},
    {"a100-pcie", "a100-pcie-80"},
    {"h100", "h100-sxm"},
    {"h100-80gb", "h100-sxm"},
    {"h100-sxm5", "h100-sxm"},
    {"h200", "h200-sxm"},
    {"gh200", "gh200-96"},
    {"b200", "b200-hgx"},
    {"gb200", "gb200-gpu"},
    {"gb200-nvl72", "gb200-gpu"},
    {"b300", "b300-hgx"},
    {"rtx-3090", "rtx3090"},
    {"rtx-4090", "rtx4090"},
    {"rtx-5090", "rtx5090"},
    {"mi300", "mi300x"},
    {"mi325", "mi325x"},
    {"mi355", "mi355x"},
    {"tpu-v6", "tpu-v6e"},
    {"trillium", "tpu-v6e"},
    {"ironwood", "tpu-v7"},
    {"tpu7x", "tpu-v7"},
    {"trn1", "trainium1"},
    {"trn2", "trainium2"},
    {"trn3", "trainium3"},
    {"local", "cpu"},
};

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

const Device* find(std::string_view id) {
  const auto all = devices();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const Device& d) { return d.id == id; });
  return found == all.end() ? nullptr : &*found;
}

std::vector<std::string_view> known_names() {
  std::vector<std::string_view> names;
  for (const Device& d : devices()) names.push_back(d.id);
  for (const Alias& alias : kAliases) names.push_back(alias.name);
  return names;
}

const Peak* find_peak(const Device& device, DType type) {
  for (const Peak& p : device.peaks)
    if (p.type == type) return &p;
  if (type == DType::F8Block || type == DType::F8Row) return find_peak(device, DType::F8);
  // No device states a peak of 16-bit integers; floats of 4 bytes hold them and multiply them.
  return type == DType::TF32 || type == DType::Flex16 ? find_peak(device, DType::F32) : nullptr;
}

}  // namespace

std::string_view to_string(Topology topology) {
  switch (topology) {
    case Topology::Switch:
      return "switch";
    case Topology::Mesh:
      return "mesh";
    case Topology::Rail:
      return "rail";
    case Topology::FatTree:
      return "fat-tree";
    case Topology::Torus:
      return "torus";
    case Topology::CubeMesh:
      return "cube-mesh";
    case Topology::Dragonfly:
      return "dragonfly";
  }
  return "";
}

FlopsPerSecond peak(const Device& device, DType type) {
  if (const Peak* found = find_peak(device, type)) return found->rate.value;
  std::string has;
  for (const Peak& p : device.peaks)
    has += (has.empty() ? "" : ", ") + std::string(to_string(p.type));
  throw Error(Error::Kind::Unsupported, device.name + " has no matrix products in " +
                                            std::string(to_string(type)) + "; it has " + has);
}

bool supports(const Device& device, DType type) { return find_peak(device, type) != nullptr; }

const Device& device(std::string_view id) {
  const std::string wanted = lower(id);
  if (const Device* found = find(wanted)) return *found;
  for (const Alias& alias : kAliases)
    if (alias.name == wanted) return *find(alias.id);
  throw Error(Error::Kind::InvalidInput, "no device is called \"" + std::string(id.substr(0, 60)) +
                                             "\"" + did_you_mean(wanted, known_names()));
}

bool switches_reduce(const Device& device) {
  return device.scale_up_kind.find("NVLink") != std::string::npos &&
         device.scale_up_kind.find("witch") != std::string::npos && device.year >= 2022;
}

}  // namespace trainyard

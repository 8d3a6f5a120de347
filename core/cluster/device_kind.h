// A DeviceKind is a number of equal devices of a cluster that has others too.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "core/cluster/device.h"

namespace trainyard {

struct DeviceKind {
  Device device;
  std::int64_t count = 1;
  friend bool operator==(const DeviceKind&, const DeviceKind&) = default;
};

/// Reads kinds of the catalogue, as "a100-sxm-80:16+v100-sxm2-32:8". Throws Error{InvalidInput}
/// that says what was expected and found.
std::vector<DeviceKind> parse_device_kinds(std::string_view);
/// The text that parse_device_kinds() reads as these kinds.
std::string to_text(const std::vector<DeviceKind>&);

/// Returns what is wrong with the kinds of the last of `count` devices, in nodes of `node`, that
/// are as `first` otherwise: more devices than there are, nodes of two kinds, links that do not
/// fit, two kinds of one name.
Diagnostics check_device_kinds(const Device& first, std::int64_t count, std::int64_t node,
                               const std::vector<DeviceKind>&);

}  // namespace trainyard

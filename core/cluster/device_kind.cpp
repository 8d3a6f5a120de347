#include "core/cluster/device_kind.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/error.h"
#include "core/base/units_text.h"

namespace trainyard {
namespace {

DeviceKind parse_device_kind(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos)
    refuse(fmt::format("expected DEVICE:COUNT such as a100-sxm-80:16, found \"{}\"",
                       text.substr(0, 60)));
  const Device& chosen = device(text.substr(0, colon));
  const std::int64_t count = parse_integer(text.substr(colon + 1));
  if (count < 1)
    refuse(fmt::format("expected at least 1 device of {}, found {}", chosen.id, count));
  return {chosen, count};
}

}  // namespace

std::vector<DeviceKind> parse_device_kinds(std::string_view text) {
  std::vector<DeviceKind> kinds;
  for (std::size_t start = 0; start <= text.size();) {
    const std::size_t end = std::min(text.find('+', start), text.size());
    kinds.push_back(parse_device_kind(text.substr(start, end - start)));
    start = end + 1;
  }
  return kinds;
}

std::string to_text(const std::vector<DeviceKind>& kinds) {
  std::string text;
  for (const DeviceKind& kind : kinds)
    text += fmt::format("{}{}:{}", text.empty() ? "" : "+", kind.device.id, kind.count);
  return text;
}

}  // namespace trainyard

#include "core/cluster/device_kind.h"

#include <fmt/format.h>

#include <algorithm>

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

// Prices of kernels are looked up by the name of a device, and neither memory nor money is in them.
bool alike_to_prices(Device a, const Device& b) {
  a.memory = b.memory, a.price_low = b.price_low, a.price_high = b.price_high;
  return a == b;
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

Diagnostics check_device_kinds(const Device& first, std::int64_t count, std::int64_t node,
                               const std::vector<DeviceKind>& kinds) {
  Diagnostics found;
  const auto wrong = [&](std::string message) {
    found.push_back({Diagnostic::Severity::Error, std::move(message), {}, {}});
  };
  std::int64_t named = 0;
  for (const DeviceKind& kind : kinds) named += kind.count;
  if (named >= count)
    wrong(
        fmt::format("mixed names {} of the cluster's {} devices, and at least one must be left "
                    "for {}",
                    named, count, first.id));
  std::vector<const Device*> before = {&first};
  for (const DeviceKind& kind : kinds) {
    const Device& own = kind.device;
    if (kind.count < 1)
      wrong(fmt::format("expected at least 1 device of {}, found {}", own.id, kind.count));
    if (count > node && kind.count % node != 0)
      wrong(
          fmt::format("{} devices of {} do not fill nodes of {}, and a node has devices of one "
                      "kind",
                      kind.count, own.id, node));
    if (own.scale_up_topology != first.scale_up_topology)
      wrong(fmt::format("{} are joined as a {} and {} as a {}, and a cluster wires its nodes alike",
                        own.id, to_string(own.scale_up_topology), first.id,
                        to_string(first.scale_up_topology)));
    for (const Device* other : before)
      if (other->id == own.id && !alike_to_prices(*other, own))
        wrong(fmt::format("two kinds are called {} and differ; give one of them an id of its own",
                          own.id));
    before.push_back(&own);
  }
  return found;
}

}  // namespace trainyard

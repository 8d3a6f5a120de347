#include "core/cluster/host.h"

#include <fmt/format.h>

#include <algorithm>

namespace trainyard {
namespace {

// kLinkShare is the share of a link that pinned copies reach, kUpdateShare the share of a host's
// memory bandwidth that elementwise updates on all cores reach. Both are assumed: about 25 of PCIe
// 4's 31.5 GB/s, and half of what the memory channels could deliver.
constexpr double kLinkShare = 0.8, kUpdateShare = 0.5;

// A Server is a two-socket server, chosen by the year of the devices in it.
struct Server {
  int until = 0;
  double bandwidth = 0;  // bytes per second
  const char* channels = "";
};
constexpr Server kServers[] = {{2019, 256e9, "12 channels of DDR4-2666"},
                               {2021, 409.6e9, "16 channels of DDR4-3200"},
                               {2023, 614.4e9, "16 channels of DDR5-4800"},
                               {9999, 819.2e9, "16 channels of DDR5-6400"}};

// A processor on a coherent link (NVLink-C2C) has about as much memory bandwidth as that link.
constexpr double kCoherentLink = 200e9, kCoherentMemory = 512.0 / 450.0;

Sourced<BytesPerSecond> assumed_bandwidth(const Device& device, std::int64_t sharing) {
  const double link = device.host_link.value.value;
  if (link >= kCoherentLink)
    return {{link * kCoherentMemory},
            "assumed: a processor whose memory is a little faster than its coherent link"};
  const Server* server = kServers;
  while (device.year > server->until) ++server;
  return {{server->bandwidth / static_cast<double>(sharing)},
          fmt::format("assumed: {:.0f} GB/s of a two-socket host with {}, shared by {} device{}",
                      server->bandwidth / 1e9, server->channels, sharing, sharing == 1 ? "" : "s")};
}

Duration at_rate(Bytes bytes, double rate) {
  return bytes.value > 0 ? seconds(static_cast<double>(bytes.value) / std::max(1.0, rate))
                         : Duration{};
}

}  // namespace

Host host_of(const Cluster& cluster) {
  constexpr std::int64_t kMostOnAServer = 8;
  const std::int64_t node = devices_per_node(cluster);
  Host host{cluster.device.host_link, {}, kLinkShare, kUpdateShare};
  if (cluster.host_bandwidth.value.value > 0)
    host.bandwidth = {{cluster.host_bandwidth.value.value / static_cast<double>(node)},
                      cluster.host_bandwidth.source};
  else
    host.bandwidth =
        assumed_bandwidth(cluster.device, std::clamp<std::int64_t>(node, 1, kMostOnAServer));
  return host;
}

Duration host_copy_time(Bytes bytes, const Cluster& cluster) {
  return at_rate(bytes, cluster.device.host_link.value.value * kLinkShare);
}

Duration host_update_time(Bytes touched, const Cluster& cluster) {
  const Host host = host_of(cluster);
  return at_rate(touched, host.bandwidth.value.value * host.bandwidth_share);
}

}  // namespace trainyard

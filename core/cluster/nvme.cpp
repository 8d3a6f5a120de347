#include "core/cluster/nvme.h"

#include <algorithm>

namespace trainyard {
namespace {

// A SoldNode is a node as its maker sells it. Rates that nobody publishes are 0.
struct SoldNode {
  std::string_view device;
  std::int64_t devices = 8;
  std::int64_t drives = 0;  // of kDrive bytes
  double read = 0, write = 0;
  const char* source = "";
  const char* read_source = "";
};
constexpr std::int64_t kDrive = 3'840'000'000'000;
constexpr SoldNode kSoldNodes[] = {
    {"v100-sxm3-32", 16, 8, 25.6e9, 0, "DGX-2 datasheet (8 x 3.84 TB), recalled",
     "ZeRO-Infinity, figure 2b (1.6 GB/s for each of 16 devices of a DGX-2), recalled"},
    {"a100-sxm-40", 8, 4, 0, 0, "DGX A100 320GB datasheet (4 x 3.84 TB), recalled", ""},
    {"a100-sxm-80", 8, 8, 0, 0, "DGX A100 640GB datasheet (8 x 3.84 TB), recalled", ""},
    {"h100-sxm", 8, 8, 0, 0, "DGX H100 datasheet (8 x 3.84 TB), recalled", ""}};

template <class T>
void take_where_unstated(Sourced<T>& figure, T sold, const char* source) {
  if (!(figure.value > T{}) && sold > T{}) figure = {sold, source};
}

Duration shared(Bytes bytes, BytesPerSecond of_node, const Cluster& cluster) {
  if (bytes.value <= 0) return {};
  const double each = of_node.value / static_cast<double>(devices_per_node(cluster));
  return seconds(static_cast<double>(bytes.value) / std::max(1.0, each));
}

}  // namespace

Nvme nvme_of(const Cluster& cluster) {
  Nvme found{cluster.nvme, cluster.nvme_read, cluster.nvme_write};
  for (const SoldNode& node : kSoldNodes) {
    if (node.device != cluster.device.id || node.devices != cluster.levels.front().size) continue;
    take_where_unstated(found.capacity, Bytes{node.drives * kDrive}, node.source);
    take_where_unstated(found.read, BytesPerSecond{node.read}, node.read_source);
    take_where_unstated(found.write, BytesPerSecond{node.write}, node.source);
  }
  return found;
}

Duration nvme_read_time(Bytes bytes, const Cluster& cluster) {
  return shared(bytes, nvme_of(cluster).read.value, cluster);
}

Duration nvme_write_time(Bytes bytes, const Cluster& cluster) {
  return shared(bytes, nvme_of(cluster).write.value, cluster);
}

}  // namespace trainyard

// A mixed cluster has devices of several kinds. Everything that belongs to one device, a stage of a
// pipeline for instance, sees the cluster as that device's kind has it: its device, and its links.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/cluster/cluster.h"

namespace trainyard {

inline bool is_mixed(const Cluster& cluster) { return !cluster.mixed.empty(); }
/// Returns the number of kinds: 1 where all devices are equal.
inline std::size_t kinds(const Cluster& cluster) { return 1 + cluster.mixed.size(); }
/// Returns the device of a kind, with 0 <= kind < kinds(); kind 0 is Cluster::device.
const Device& device_of_kind(const Cluster&, std::size_t kind);
/// Returns how many devices are of that kind.
std::int64_t count_of_kind(const Cluster&, std::size_t kind);
/// Returns the kind of a device, with 0 <= device < count.
std::size_t kind_of_device(const Cluster&, std::int64_t device);

/// Returns the cluster as that kind has it: as many devices, all of the kind. A level of links has
/// the rate, latency and reduction of the kind where the first kind's are its own datasheet's;
/// where they are stated otherwise, they hold for every kind.
Cluster kind_cluster(const Cluster&, std::size_t kind);

/// Returns a price of an hour of one device, the low or the high one, in the mean over all devices;
/// nothing where a kind has none.
std::optional<double> mean_price(const Cluster&, std::optional<Sourced<double>> Device::* price);

/// KindClusters has kind_cluster() of every kind; of a cluster that is not mixed, the cluster
/// itself, which must outlive it.
class KindClusters {
 public:
  explicit KindClusters(const Cluster&);
  const Cluster& operator[](std::size_t kind) const { return own_.empty() ? *whole_ : own_[kind]; }
  std::size_t size() const { return own_.empty() ? 1 : own_.size(); }

 private:
  const Cluster* whole_;
  std::vector<Cluster> own_;
};

/// Leaves the first `devices` of the cluster's devices.
void keep_first(Cluster&, std::int64_t devices);

}  // namespace trainyard

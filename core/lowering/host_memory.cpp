#include "core/lowering/host_memory.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/units_text.h"
#include "core/cluster/host.h"
#include "core/lowering/phases.h"
#include "core/lowering/stage_copies.h"
#include "core/program/offloaded.h"

namespace trainyard {
namespace {

std::vector<Bytes> by_device(const Workload& w) {
  std::vector<Bytes> held(static_cast<std::size_t>(w.scenario.plan.mesh.pp));
  for (const StageCopy& place : StageCopies(w))
    held[place.device.value] += host_work(w, place.stage).all.state;
  if (!w.layout.host_activations) return held;
  const Order followed = order(w, schedule_shape(w));
  for (const Lane& lane : followed.lanes) {
    const std::vector<int> most = most_offloaded(lane, w.table.size());
    for (std::uint32_t s = 0; s < most.size(); ++s) {
      const PhaseBytes& bytes = phase_bytes(w, StageId{s});
      held[lane.device.value] += (bytes.until_input + bytes.until_weight) * most[s];
    }
  }
  return held;
}

std::string basis(const Workload& w) {
  const Host host = host_of(w.scenario.cluster);
  std::string text = fmt::format("copies at {:.0f} % (assumed) of the host link's {}",
                                 100 * host.link_share, readable(host.link.value));
  if (w.layout.host_optimizer)
    text += fmt::format("; updates at {:.0f} % (assumed) of {} of host memory a device ({})",
                        100 * host.bandwidth_share, readable(host.bandwidth.value),
                        host.bandwidth.source);
  return text;
}

}  // namespace

std::optional<HostMemory> host_memory(const Workload& w) {
  if (!w.layout.host_optimizer && !w.layout.host_activations) return std::nullopt;
  const std::vector<Bytes> held = by_device(w);
  HostMemory host;
  host.device = *std::max_element(held.begin(), held.end());
  host.node = host.device * devices_per_node(w.scenario.cluster);
  host.capacity = w.scenario.cluster.host_memory;
  host.basis = basis(w);
  return host;
}

Diagnostics check_host_memory(const Workload& w) {
  const Sourced<Bytes>& capacity = w.scenario.cluster.host_memory;
  if (capacity.value.value == 0) return {};
  const std::optional<HostMemory> host = host_memory(w);
  if (!host || host->node <= capacity.value) return {};
  const bool both = w.layout.host_optimizer && w.layout.host_activations;
  return {
      {Diagnostic::Severity::Error,
       fmt::format("offload puts {} into the memory of every node's host, which has {}: {} over",
                   readable(host->node), readable(capacity.value),
                   readable(host->node - capacity.value)),
       {"plan#/choices/offload"},
       both ? "offload=optimizer" : "offload=none"}};
}

}  // namespace trainyard

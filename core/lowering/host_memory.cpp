#include "core/lowering/host_memory.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/units_text.h"
#include "core/cluster/host.h"
#include "core/cluster/nvme.h"
#include "core/lowering/layer_copies.h"
#include "core/lowering/phases.h"
#include "core/lowering/stage_copies.h"
#include "core/program/offloaded.h"

namespace trainyard {
namespace {

// The most of a lane's microbatches that wait with the host at once where they leave layer by
// layer.
Bytes most_away(const Workload& w, const Lane& lane) {
  const std::vector<bool> turn = turns(lane);
  Bytes now{}, most{};
  for (std::size_t i = 0; i < lane.actions.size(); ++i) {
    const Action& a = lane.actions[i];
    const Bytes away = away_bytes(w, a.stage, turn[i]);
    if (a.phase == Phase::Forward) now += away;
    if (a.phase == Phase::Backward) now -= away;
    most = std::max(most, now);
  }
  return most;
}

std::vector<Bytes> by_device(const Workload& w) {
  std::vector<Bytes> held(static_cast<std::size_t>(w.scenario.plan.mesh.pp));
  for (const StageCopy& place : StageCopies(w))
    held[place.device.value] += host_work(w, place.stage).all.state;
  const std::vector<StateBuffers> buffers = state_buffers(w);
  for (std::size_t d = 0; d < buffers.size(); ++d) held[d] += buffers[d].all();
  if (!w.layout.host_activations) return held;
  const Order followed = order(w, schedule_shape(w));
  for (const Lane& lane : followed.lanes) {
    if (w.layout.layers_in_flight > 0) {
      held[lane.device.value] += most_away(w, lane);
      continue;
    }
    const std::vector<int> most = most_offloaded(lane, w.table.size());
    for (std::uint32_t s = 0; s < most.size(); ++s) {
      const PhaseBytes& bytes = phase_bytes(w, StageId{s});
      held[lane.device.value] += (bytes.until_input + bytes.until_weight) * most[s];
    }
  }
  return held;
}

Bytes most_on_nvme(const Workload& w) {
  std::vector<Bytes> held(static_cast<std::size_t>(w.scenario.plan.mesh.pp));
  for (const StageCopy& place : StageCopies(w))
    held[place.device.value] += host_work(w, place.stage).all.nvme;
  return *std::max_element(held.begin(), held.end());
}

std::string basis(const Workload& w) {
  const Host host = host_of(w.scenario.cluster);
  std::string text = fmt::format("copies at {:.0f} % (assumed) of the host link's {}",
                                 100 * host.link_share, readable(host.link.value));
  if (w.layout.host_optimizer)
    text += fmt::format("; updates at {:.0f} % (assumed) of {} of host memory a device ({})",
                        100 * host.bandwidth_share, readable(host.bandwidth.value),
                        host.bandwidth.source);
  if (w.layout.nvme_optimizer) {
    const Nvme nvme = nvme_of(w.scenario.cluster);
    text += fmt::format("; {} read ({}) and {} written ({}) by the NVMe of a node",
                        readable(nvme.read.value), nvme.read.source, readable(nvme.write.value),
                        nvme.write.source);
  }
  return text;
}

// Returns whether the plan would fit if the optimizer state that host memory has no room for were
// on NVMe.
bool fits_with_nvme(Workload w) {
  const Nvme nvme = nvme_of(w.scenario.cluster);
  if (!w.layout.host_optimizer || w.layout.nvme_optimizer || !(nvme.read.value.value > 0) ||
      !(nvme.write.value.value > 0))
    return false;
  w.layout.nvme_optimizer = true;
  sum_stages(w);
  const HostMemory held = *host_memory(w);
  return held.node <= held.capacity.value &&
         (nvme.capacity.value.value == 0 || held.nvme_node <= nvme.capacity.value);
}

}  // namespace

std::optional<HostMemory> host_memory(const Workload& w) {
  if (!w.layout.host_optimizer && !w.layout.host_activations) return std::nullopt;
  const std::vector<Bytes> held = by_device(w);
  HostMemory host;
  host.device = *std::max_element(held.begin(), held.end());
  host.node = host.device * devices_per_node(w.scenario.cluster);
  host.capacity = w.scenario.cluster.host_memory;
  if (w.layout.nvme_optimizer) {
    host.nvme_device = most_on_nvme(w);
    host.nvme_node = host.nvme_device * devices_per_node(w.scenario.cluster);
    host.nvme_capacity = nvme_of(w.scenario.cluster).capacity;
  }
  host.basis = basis(w);
  return host;
}

std::vector<StateBuffers> state_buffers(const Workload& w) {
  std::vector<StateBuffers> found(static_cast<std::size_t>(w.scenario.plan.mesh.pp));
  for (const StageCopy& place : StageCopies(w))
    for (const auto& [layer, count] : host_work(w, place.stage).layers)
      found[place.device.value].add(layer.nvme, count);
  return found;
}

Diagnostics check_host_memory(const Workload& w) {
  const std::optional<HostMemory> host = host_memory(w);
  if (!host) return {};
  const auto over = [](Bytes needs, Bytes has, std::string_view where, const char* fix) {
    return Diagnostic{Diagnostic::Severity::Error,
                      fmt::format("offload puts {} {}, which has {}: {} over", readable(needs),
                                  where, readable(has), readable(needs - has)),
                      {"plan#/choices/offload"},
                      fix};
  };
  const Bytes memory = host->capacity.value, nvme = host->nvme_capacity.value;
  if (memory.value > 0 && host->node > memory) {
    const bool both = w.layout.host_optimizer && w.layout.host_activations;
    return {over(host->node, memory, "into the memory of every node's host",
                 fits_with_nvme(w) ? "offload-tier=nvme"
                 : both            ? "offload=optimizer"
                                   : "offload=none")};
  }
  if (nvme.value > 0 && host->nvme_node > nvme)
    return {over(host->nvme_node, nvme, "onto the NVMe of every node", "offload-tier=host")};
  return {};
}

}  // namespace trainyard

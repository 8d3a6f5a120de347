// Implements what is different where the devices of a run are of several processes: whose a device
// is, which groups need a channel between processes, and how the first process gets what others
// hold.
#include <algorithm>
#include <limits>
#include <set>

#include "backends/cpu/execution/cpu_execution.h"

namespace trainyard {

// Devices that follow each other are of one process, so that tensor ranks are close together.
int CpuExecution::process_of(DeviceId device, int peer) const {
  const std::size_t all = static_cast<std::size_t>(plan_.program.devices) *
                          static_cast<std::size_t>(peers()),
                    count = static_cast<std::size_t>(processes()->count());
  return static_cast<int>(index(device, peer) * count / all);
}

// The ranks that hold a part of the state each, which together are the whole.
Group CpuExecution::state_group() const {
  const std::int64_t shards = plan_.workload.layout.optimizer_shards;
  return shards == 1 ? Group::Pipeline : shards == plan_.peers.dp ? Group::Data : Group::Shard;
}

void CpuExecution::sum_over_processes(std::span<double> values) const {
  if (processes() != nullptr) processes()->sum(values);
}

// Makes a channel for the group, unless it has one or is of one process.
void CpuExecution::share(std::size_t stream, Group group, std::span<const int> members,
                         std::span<const DeviceId> devices) {
  std::vector<int> process;
  for (std::size_t m = 0; m < members.size(); ++m)
    process.push_back(process_of(devices[std::min(m, devices.size() - 1)], members[m]));
  const std::set<int> different(process.begin(), process.end());
  const std::vector<int> ranks(different.begin(), different.end());
  const auto place = [&](int rank) {
    return static_cast<std::size_t>(std::find(ranks.begin(), ranks.end(), rank) - ranks.begin());
  };
  const std::size_t own = place(processes()->rank());
  if (ranks.size() < 2 || own == ranks.size()) return;
  SharedGroup& made = shared_[stream][{group, members.front()}];
  if (made.channel) return;
  for (int rank : process) made.place.push_back(place(rank));
  made.own = own;
  made.processes = ranks.size();
  made.channel = processes()->channel(ranks);
}

TravelPtr CpuExecution::announced(InstructionId id, int peer) {
  if (processes() == nullptr || plan_.program.task(id).kind != TaskKind::Receive) return nullptr;
  const InstructionId send = plan_.program.instructions[id.value].peer;
  if (here(plan_.device_of(send), peer)) return nullptr;
  return std::make_unique<Travel>(processes()->announcement(process_of(plan_.device_of(send), peer),
                                                            message_number(send, peer)),
                                  [] { return nullptr; });
}

// All processes go through all groups in one order, and each joins those that are its own.
void CpuExecution::find_groups() {
  if (processes() == nullptr) return;
  const Program& p = plan_.program;
  stream_of_.resize(p.instructions.size());
  shared_.resize(p.streams.size() + static_cast<std::size_t>(p.devices));
  for (std::size_t s = 0; s < p.streams.size(); ++s)
    for (std::uint32_t i = p.streams[s].first; i < p.streams[s].first + p.streams[s].count; ++i) {
      stream_of_[i] = static_cast<std::uint32_t>(s);
      const Task& task = p.task(InstructionId{i});
      if (task.kind != TaskKind::Collective) continue;
      for (int peer = 0; peer < peers(); ++peer) {
        if (task.group == Group::Copies) {
          const InstructionId other = p.instructions[i].peer;
          if (other.value < i) continue;  // it has the channel of the end that comes first
          const int both[] = {peer, peer};
          const DeviceId devices[] = {plan_.device_of({i}), plan_.device_of(other)};
          share(s, task.group, both, devices);
          continue;
        }
        const std::vector<int>& members = plan_.members(task.group, peer);
        if (members.front() == peer) share(s, task.group, members, {{p.streams[s].device}});
      }
    }
  std::vector<Group> between = {Group::Tensor, state_group()};  // repetitions
  if (plan_.workload.layout.expert_weight_shards > 1) between.push_back(Group::ExpertData);
  for (std::uint32_t d = 0; d < static_cast<std::uint32_t>(p.devices); ++d)
    for (Group group : between)
      for (int peer = 0; peer < peers(); ++peer)
        if (plan_.members(group, peer).front() == peer)
          share(p.streams.size() + d, group, plan_.members(group, peer), {{DeviceId{d}}});
}

Company CpuExecution::company(std::size_t stream, Group group, std::span<const int> members) const {
  Company made{members.size(), nullptr};
  if (shared_.empty()) return made;
  const auto found = shared_[stream].find({group, members.front()});
  if (found != shared_[stream].end()) made.shared = &found->second;
  return made;
}

Company CpuExecution::company_of(const At& a, std::span<const int> members) const {
  if (shared_.empty()) return {members.size(), nullptr};
  return company(stream_of_[id_of(a).value], a.task.group, members);
}

// Devices of other processes are held here from now on, for a checkpoint or the whole parameters.
void CpuExecution::fetch_state() {
  if (processes() == nullptr) return;
  const int rank = processes()->rank();
  for (std::size_t at = 0; at < plan_.places.size(); ++at)
    for (int peer = 0; peer < peers(); ++peer) {
      const DeviceId device = plan_.places[at].device;
      const int owner = process_of(device, peer), number = static_cast<int>(at) * peers() + peer;
      if (owner == 0 || (rank != 0 && rank != owner)) continue;
      std::unique_ptr<DeviceState>& held = devices_[index(device, peer)];
      if (!held) {
        held = std::make_unique<DeviceState>(plan_, device, peer, Bytes{});
        for (std::size_t place = 0; place < plan_.places.size(); ++place)
          if (plan_.places[place].device.value == device.value) hold_state(*held, place);
      }
      StageState& stage = held->stage(at);
      const auto fetch = [&](std::span<std::byte> bytes) {
        const TransferPtr transfer = rank == 0 ? processes()->receive(owner, number, bytes)
                                               : processes()->send(0, number, bytes);
        processes()->wait(*transfer);
      };
      for (std::vector<Allocation>* sets : {&stage.weights, &stage.optimizer})
        for (Allocation& set : *sets)
          if (set) fetch({set.data, static_cast<std::size_t>(set.bytes.value)});
      if (std::vector<std::byte> state = state_on_nvme(*held, at); !state.empty()) {
        fetch(state);
        if (rank == 0) set_state_on_nvme(*held, at, state);
      }
      for (auto& [norm, statistics] : stage.statistics)
        fetch(std::as_writable_bytes(statistics.state()));
      for (std::vector<std::vector<float>>* list : {&stage.tiles, &stage.own_tiles})
        for (std::vector<float>& sizes : *list)
          if (!sizes.empty()) fetch(std::as_writable_bytes(std::span(sizes)));
    }
}

void CpuExecution::forget_fetched() {
  for (std::unique_ptr<DeviceState>& device : devices_)
    if (device != nullptr && !here(device->device(), device->peer())) device.reset();
}

}  // namespace trainyard

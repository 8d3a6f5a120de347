// A FakeExecution holds memory and does nothing else; it records every call that comes too early,
// twice, or from two threads at once.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "backends/cpu/execution/execution.h"

namespace trainyard::testing {

class FakeExecution : public Execution {
 public:
  /// Peers are numbered by tensor rank, then by replica.
  FakeExecution(const Program& program, int tp, int replicas)
      : program_(program),
        tp_(tp),
        peers_(tp * replicas),
        state_(program.instructions.size() * static_cast<std::size_t>(peers_)),
        devices_(static_cast<std::size_t>(program.devices * peers_)),
        device_(program.instructions.size()) {
    for (const Stream& s : program.streams)
      std::fill_n(device_.begin() + s.first, s.count, s.device);
    for (int d = 0; d < program.devices; ++d)
      for (int p = 0; p < peers_; ++p) {
        Device& device = at({static_cast<std::uint32_t>(d)}, p);
        device.arena = std::make_unique<Arena>(program, DeviceId{static_cast<std::uint32_t>(d)},
                                               "d" + std::to_string(d), Bytes{});
        for (std::uint32_t b = 0; b < program.buffers.size(); ++b)
          if (program.buffers[b].persistent &&
              program.buffers[b].device.value == static_cast<std::uint32_t>(d))
            device.held[b].push_back(device.arena->allocate({b}, -1));
      }
    for (int rank = 0; rank < peers_; ++rank) {
      std::vector<int> tensor, data;
      for (int other = 0; other < peers_; ++other) {
        if (other / tp_ == rank / tp_) tensor.push_back(other);
        if (other % tp_ == rank % tp_) data.push_back(other);
      }
      tensor_.push_back(tensor), data_.push_back(data), self_.push_back({rank});
    }
  }

  /// Called in begin() of a computation, between the checks.
  std::function<void(InstructionId, int)> work = [](InstructionId, int) {};
  bool together = false;

  const std::vector<std::string>& wrong() const { return wrong_; }
  std::size_t exchanges() const { return exchanges_; }

  const Program& program() const override { return program_; }
  int peers() const override { return peers_; }
  void begin_repetition(int) override {
    for (auto& s : state_) s = Begun::No;
  }
  void end_repetition(int) override {}
  bool updates_together() const override { return together; }
  Arena& arena(DeviceId d, int peer) override { return *at(d, peer).arena; }

  void begin(InstructionId id, int peer, Scratch& scratch) override {
    const Alone alone(*this, id, peer);
    expect(scratch.most().value >= 0, "scratch", id, peer);
    expect(state(id, peer) == Begun::No, "begun twice", id, peer);
    const Instruction& in = program_.instructions[id.value];
    for (std::uint32_t k = 0; k < in.afters; ++k)
      expect(state(program_.after[in.first_after + k], peer) == Begun::Ended,
             "begun before its time", id, peer);
    if (!first_of_stream(id))
      expect(state({id.value - 1}, peer) == Begun::Ended, "overtakes its stream", id, peer);
    effects(id, peer, false);
    if (program_.task(id).kind == TaskKind::Compute) work(id, peer);
    state(id, peer) = Begun::Begun;
  }
  TravelPtr exchange(InstructionId id, std::span<const int> members) override {
    ++exchanges_;
    const InstructionId other = program_.instructions[id.value].peer;
    if (other.valid())
      expect(program_.task(id).kind == TaskKind::Send || id < other, "led by its end", id,
             members[0]);
    for (int member : members)
      for (const InstructionId end : {id, other}) {
        if (!end.valid()) continue;
        expect(state(end, member) == Begun::Begun, "exchanges what has not begun", end, member);
        state(end, member) = Begun::Exchanged;
      }
    return nullptr;
  }
  void end(InstructionId id, int peer) override {
    const Alone alone(*this, id, peer);
    const bool compute = program_.task(id).kind == TaskKind::Compute;
    expect(state(id, peer) == (compute ? Begun::Begun : Begun::Exchanged), "ended too early", id,
           peer);
    effects(id, peer, true);
    state(id, peer) = Begun::Ended;
  }
  std::span<const int> members(InstructionId id, int peer) const override {
    const Task& task = program_.task(id);
    const auto p = static_cast<std::size_t>(peer);
    if (task.kind != TaskKind::Collective || task.group == Group::Copies) return self_[p];
    return task.group == Group::Tensor ? tensor_[p] : data_[p];
  }

  bool ended(InstructionId id, int peer) const {
    return state_[id.value * static_cast<std::size_t>(peers_) + static_cast<std::size_t>(peer)] ==
           Begun::Ended;
  }

 private:
  enum class Begun { No, Begun, Exchanged, Ended };
  struct Device {
    std::atomic<bool> busy = false;
    std::unique_ptr<Arena> arena;
    std::map<std::uint32_t, std::vector<Allocation>> held;
  };
  struct Alone {
    Alone(FakeExecution& e, InstructionId id, int peer) : device(e.at(e.device_[id.value], peer)) {
      e.expect(!device.busy.exchange(true), "meets another of its device", id, peer);
    }
    ~Alone() { device.busy = false; }
    Device& device;
  };

  Device& at(DeviceId d, int peer) {
    return devices_[d.value * static_cast<std::size_t>(peers_) + static_cast<std::size_t>(peer)];
  }
  std::atomic<Begun>& state(InstructionId id, int peer) {
    return state_[id.value * static_cast<std::size_t>(peers_) + static_cast<std::size_t>(peer)];
  }
  bool first_of_stream(InstructionId id) const {
    for (const Stream& s : program_.streams)
      if (s.first == id.value && s.count > 0) return true;
    return false;
  }
  void effects(InstructionId id, int peer, bool at_end) {
    const Task& task = program_.task(id);
    Device& device = at(device_[id.value], peer);
    for (std::uint32_t e = task.first_effect; e < task.first_effect + task.effects; ++e) {
      const MemoryEffect& effect = program_.effects[e];
      if (effect.at_end != at_end) continue;
      std::vector<Allocation>& held = device.held[effect.buffer.value];
      if (effect.allocate) {
        held.push_back(
            device.arena->allocate(effect.buffer, program_.instructions[id.value].microbatch));
      } else {
        expect(!held.empty(), "releases what is not held", id, peer);
        if (!held.empty()) device.arena->release(held.back()), held.pop_back();
      }
    }
  }
  void expect(bool right, const char* what, InstructionId id, int peer) {
    if (right) return;
    const std::lock_guard lock(mutex_);
    wrong_.push_back(describe(program_, id) + " on peer " + std::to_string(peer) + " " + what);
  }

  const Program& program_;
  const int tp_, peers_;
  std::vector<std::atomic<Begun>> state_;
  std::vector<Device> devices_;
  std::vector<DeviceId> device_;
  std::vector<std::vector<int>> tensor_, data_, self_;
  std::atomic<std::size_t> exchanges_ = 0;
  std::mutex mutex_;
  std::vector<std::string> wrong_;
};

}  // namespace trainyard::testing

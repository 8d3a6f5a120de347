// An Instance is an instruction on one of the peers behind its pipeline rank. An InstanceGroup is
// all instances that run together as one: the members of a collective and, if two ends belong
// together (as a send and its receive), those of both.
#pragma once

#include <cstdint>
#include <exception>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "backends/cpu/execution/execution.h"
#include "backends/cpu/execution/instance_graph.h"
#include "backends/cpu/live.h"
#include "core/base/error.h"

namespace trainyard {

struct Instance {
  std::uint32_t instruction = 0, peer = 0;
};

struct InstanceGroup {
  InstructionId leader, other;   // the other end; invalid if there is only one
  std::span<const int> members;  // in rank order

  Instance first() const { return {leader.value, static_cast<std::uint32_t>(members[0])}; }
  std::size_t size() const { return members.size() * (other.valid() ? 2 : 1); }
  template <class F>
  void each_leader(F f) const {
    for (int member : members) f(Instance{leader.value, static_cast<std::uint32_t>(member)});
  }
  template <class F>
  void each_instance(F f) const {
    each_leader(f);
    if (!other.valid()) return;
    for (int member : members) f(Instance{other.value, static_cast<std::uint32_t>(member)});
  }
};

inline InstanceGroup group_of(const Execution& execution, Instance i) {
  const InstructionId leader = leader_of(execution.program(), {i.instruction});
  return {leader, execution.program().instructions[leader.value].peer,
          execution.members(leader, static_cast<int>(i.peer))};
}

/// Runs f; an exception leaves as an Error that names the instruction.
template <class F>
void naming(const Program& program, Instance i, F&& f) {
  const auto words = [&] {
    std::string text = describe(program, InstructionId{i.instruction});
    if (program.replicas > 1) text += " on peer " + std::to_string(i.peer);
    return text;
  };
  try {
    std::forward<F>(f)();
  } catch (Error& error) {
    error.add_context("running " + words());
    throw;
  } catch (const std::exception& error) {
    throw Error(Error::Kind::Internal, words() + ": " + error.what());
  }
}

/// For each stream, the number of instructions that have ended on every peer.
template <class Ended>
std::vector<std::uint32_t> progress(const Program& program, std::uint32_t peers, Ended ended) {
  std::vector<std::uint32_t> made;
  for (const Stream& stream : program.streams) {
    std::uint32_t done = stream.count;
    for (std::uint32_t i = 0; i < stream.count && done == stream.count; ++i)
      for (std::uint32_t p = 0; p < peers; ++p)
        if (!ended(Instance{stream.first + i, p})) done = i;
    made.push_back(done);
  }
  return made;
}

/// A LiveReport tells a sink about one pass as it runs; without a sink it does nothing. Calls for
/// one device must come from one thread at a time.
class LiveReport {
 public:
  /// earlier: the total time of all passes before this one.
  LiveReport(Execution& execution, LiveSink* sink, int repetition, Duration earlier)
      : execution_(execution),
        sink_(sink),
        peers_(static_cast<std::uint32_t>(execution.peers())),
        repetition_(repetition),
        earlier_(earlier) {}

  void span(DeviceId device, Instance i, Span span) {
    if (sink_ == nullptr) return;
    sink_->spans(worker(device, i.peer))
        .push({{i.instruction},
               repetition_,
               static_cast<std::int32_t>(i.peer),
               {earlier_ + span.start, earlier_ + span.end}});
  }
  void memory(DeviceId device, std::uint32_t peer, Instant now) {
    if (sink_ == nullptr) return;
    const auto of_peer = static_cast<std::int32_t>(peer);
    sink_->memory(worker(device, peer))
        .push({device, of_peer, earlier_ + now, execution_.arena(device, of_peer).held()});
  }

 private:
  int worker(DeviceId device, std::uint32_t peer) const {
    return static_cast<int>(device.value * peers_ + peer);
  }

  Execution& execution_;
  LiveSink* sink_;
  std::uint32_t peers_;
  std::int32_t repetition_;
  Duration earlier_;
};

}  // namespace trainyard

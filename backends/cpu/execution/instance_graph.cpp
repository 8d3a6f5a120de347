#include "backends/cpu/execution/instance_graph.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace trainyard {
namespace {

// The updates of each step; asynchronous programs have several steps.
std::map<std::int32_t, std::vector<std::uint32_t>> updates_by_step(const Program& p) {
  const auto is_update = [&](std::uint32_t i) {
    const Task& task = p.task(InstructionId{i});
    const bool works = task.kind == TaskKind::Compute || task.kind == TaskKind::HostUpdate;
    return works && task.phase == Phase::Update;
  };
  std::int32_t most = 0;
  const auto count = static_cast<std::uint32_t>(p.instructions.size());
  for (std::uint32_t i = 0; i < count; ++i)
    if (is_update(i)) most = std::max(most, p.instructions[i].microbatch);
  const std::int32_t of_a_step = p.steps < 2 ? most + 1 : std::max(1, (most + 1) / p.steps);
  std::map<std::int32_t, std::vector<std::uint32_t>> made;
  for (std::uint32_t i = 0; i < count; ++i)
    if (is_update(i)) made[p.instructions[i].microbatch / of_a_step].push_back(i);
  return made;
}

using Neighbours = std::vector<std::vector<std::uint32_t>>;

std::vector<char> reached(const Neighbours& along, std::vector<std::uint32_t> from) {
  std::vector<char> seen(along.size(), 0);
  for (std::uint32_t i : from) seen[i] = 1;
  while (!from.empty()) {
    const std::uint32_t at = from.back();
    from.pop_back();
    for (std::uint32_t next : along[at])
      if (seen[next] == 0) {
        seen[next] = 1;
        from.push_back(next);
      }
  }
  return seen;
}

}  // namespace

InstructionId leader_of(const Program& program, InstructionId id) {
  const InstructionId peer = program.instructions[id.value].peer;
  if (!peer.valid()) return id;
  if (program.task(id).kind == TaskKind::Collective) return std::min(id, peer);
  return program.task(id).kind == TaskKind::Send ? id : peer;
}

InstanceGraph::InstanceGraph(const Execution& execution)
    : program_(execution.program()),
      instructions_(static_cast<std::uint32_t>(program_.instructions.size())),
      waits_(instructions_, 0),
      reader_(instructions_, kNone),
      taker_(instructions_, kNone),
      takes_late_(instructions_, false),
      device_(instructions_) {
  std::vector<Edge> edges = waits_of_instructions();
  if (execution.updates_together()) add_gates(edges, execution.peers());
  link(edges);
  for (const Stream& stream : program_.streams) {
    if (stream.count > 0) ++waits_[stream.first];
    std::fill_n(device_.begin() + stream.first, stream.count, stream.device);
  }
  find_rings();
}

std::vector<InstanceGraph::Edge> InstanceGraph::waits_of_instructions() const {
  std::vector<Edge> edges;
  edges.reserve(program_.after.size() + program_.instructions.size());
  for (const Stream& stream : program_.streams)
    for (std::uint32_t i = 1; i < stream.count; ++i)
      edges.push_back({stream.first + i - 1, stream.first + i});
  for (std::uint32_t i = 0; i < instructions_; ++i) {
    const Instruction& in = program_.instructions[i];
    for (std::uint32_t k = 0; k < in.afters; ++k)
      edges.push_back({program_.after[in.first_after + k].value, i});
  }
  return edges;
}

void InstanceGraph::add_gates(std::vector<Edge>& edges, int peers) {
  Neighbours after(instructions_), before(instructions_);
  const auto connect = [&](std::uint32_t from, std::uint32_t to) {
    after[from].push_back(to);
    before[to].push_back(from);
  };
  for (const Edge& e : edges) connect(e.from, e.to);
  // Two ends begin together, so what one waits for, the other waits for too.
  for (std::uint32_t i = 0; i < instructions_; ++i)
    if (const InstructionId peer = program_.instructions[i].peer; peer.valid())
      connect(i, peer.value);

  for (const auto& [step, updates] : updates_by_step(program_)) {
    const std::vector<char> needed = reached(before, updates), late = reached(after, updates);
    std::vector<std::uint32_t> needs;
    for (std::uint32_t i = 0; i < instructions_; ++i)
      if (needed[i] != 0 && late[i] == 0 &&
          std::any_of(after[i].begin(), after[i].end(),
                      [&](std::uint32_t next) { return needed[next] != 0 && late[next] != 0; }))
        needs.push_back(i);
    if (needs.empty()) continue;
    const auto gate = static_cast<std::uint32_t>(waits_.size());
    // link() counts each edge once.
    waits_.push_back(static_cast<std::uint32_t>(needs.size()) *
                     static_cast<std::uint32_t>(peers - 1));
    for (std::uint32_t i : needs) edges.push_back({i, gate});
    for (std::uint32_t i : updates) edges.push_back({gate, i});
  }
}

// The attention of a collective is the next run of its node in the same list of ops, or else the
// last before it, where nothing overlaps.
void InstanceGraph::find_rings() {
  using Key = std::tuple<std::uint32_t, std::int32_t, std::int32_t, std::uint32_t, BodyList>;
  std::map<Key, std::map<std::int32_t, std::uint32_t>> computing;  // by op
  const auto key = [&](std::uint32_t i) {
    const Task& task = program_.task(InstructionId{i});
    return Key{device_[i].value, program_.instructions[i].microbatch, task.layer, task.node.value,
               task.list};
  };
  const auto passes = [&](const Task& task) {
    return task.kind == TaskKind::Collective && is_context(task.group) && task.node.valid() &&
           !task.tensor.valid();
  };
  std::vector<std::uint32_t> collectives;
  for (std::uint32_t i = 0; i < instructions_; ++i)
    if (passes(program_.task(InstructionId{i}))) collectives.push_back(i), computing[key(i)];
  for (std::uint32_t i = 0; i < instructions_ && !computing.empty(); ++i)
    if (const Task& task = program_.task(InstructionId{i}); task.kind == TaskKind::Compute)
      if (const auto found = computing.find(key(i)); found != computing.end())
        found->second[task.op] = i;
  for (std::uint32_t i : collectives) {
    const Task& task = program_.task(InstructionId{i});
    const std::map<std::int32_t, std::uint32_t>& runs = computing[key(i)];
    if (runs.empty()) continue;
    auto run = runs.upper_bound(task.op);
    if (run == runs.end()) --run;
    takes_late_[i] = task.collective == CollectiveKind::ReduceScatter;
    if (takes_late_[i]) {
      taker_[run->second] = i;
    } else {
      reader_[i] = run->second;
      ++waits_[run->second];
    }
  }
}

void InstanceGraph::link(const std::vector<Edge>& edges) {
  first_.assign(waits_.size() + 1, 0);
  for (const Edge& e : edges) ++first_[e.from + 1];
  for (std::size_t i = 1; i < first_.size(); ++i) first_[i] += first_[i - 1];
  successors_.resize(edges.size());
  std::vector<std::uint32_t> at(first_.begin(), first_.end() - 1);
  for (const Edge& e : edges) {
    successors_[at[e.from]++] = e.to;
    ++waits_[e.to];
  }
}

}  // namespace trainyard

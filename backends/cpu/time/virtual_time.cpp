#include "backends/cpu/time/virtual_time.h"

#include <algorithm>
#include <queue>
#include <utility>

#include "backends/cpu/execution/instance.h"
#include "backends/cpu/execution/instance_graph.h"
#include "backends/deadlock.h"
#include "backends/shared_resource.h"

namespace trainyard {
namespace {

// The state that a driver keeps from one pass to the next.
struct VirtualTime {
  const TaskPrices& prices;
  std::function<Duration()> cpu_time;
  Scratch scratch = {};
  std::unique_ptr<InstanceGraph> graph = {};
  Duration earlier{};  // virtual time of all earlier passes
};

// The simulator's loop over instances (instruction and peer). Everything that ends at an instant
// ends before anything begins at it, so that released memory is available. A computation runs when
// it begins, and that determines its end; a collective begins when all its members can, takes every
// member's port, and ends with the last of them. Attention over a sequence that ranks divide begins
// when the collective that brings its keys does, and ends no later than the one that takes their
// gradients.
class VirtualPass {
 public:
  VirtualPass(VirtualTime& own, Execution& execution, int repetition, LiveSink* live,
              std::stop_token stop)
      : own_(own),
        execution_(execution),
        program_(execution.program()),
        graph_(*own.graph),
        peers_(static_cast<std::uint32_t>(execution.peers())),
        stop_(std::move(stop)),
        live_(execution, live, repetition, own.earlier) {
    std::uint8_t most = 0;
    for (std::uint8_t r : own.prices.resource) most = std::max(most, r);
    ports_ = std::uint32_t{most} + 1;
    resources_.resize(std::size_t{ports_} * static_cast<std::size_t>(program_.devices) * peers_);
    state_.resize(std::size_t{graph_.instructions()} * peers_);
    for (std::uint32_t node = 0; node < graph_.nodes(); ++node) {
      if (graph_.is_gate(node)) {
        gates_.push_back(graph_.waits(node));
        continue;
      }
      for (std::uint32_t p = 0; p < peers_; ++p) at({node, p}).waits = graph_.waits(node);
    }
    expect_an_end();
    timeline_.clock = Timeline::Clock::Measured;
    timeline_.backend = "cpu";
    timeline_.spans.resize(program_.instructions.size());
  }

  DriverResult run() {
    for (std::uint32_t s = 0; s < program_.streams.size(); ++s) {
      const Stream& stream = program_.streams[s];
      if (stream.delay.count() > 0)
        events_.push({stream.delay, kDelay + s, 0});
      else
        begin_stream(stream);
    }
    start_all();
    while (!events_.empty()) {
      now_ = events_.top().at;
      while (!events_.empty() && events_.top().at == now_) {
        const Event event = events_.top();
        events_.pop();
        take(event);
      }
      start_all();
    }
    if (ended_ != state_.size())
      throw deadlock(program_, progress(program_, peers_, [&](Instance i) { return at(i).ended; }));
    own_.earlier += makespan(timeline_);
    return {std::move(timeline_)};
  }

 private:
  struct Event {
    Instant at;
    std::uint64_t id;  // an instance, or kDelay + the index of a stream that may begin
    std::uint32_t version;
    friend bool operator>(const Event& a, const Event& b) {
      return a.at != b.at ? a.at > b.at : a.id > b.id;
    }
  };
  static constexpr std::uint64_t kDelay = std::uint64_t{1} << 62;

  struct State {
    std::uint32_t waits = 0;    // number of things it still waits for
    std::uint32_t version = 0;  // of the newest forecast of its end
    std::uint32_t ready = 0;    // of a group's first member: number that can begin
    std::uint32_t running = 0;  // of a group's first member: number of ports in use
    std::uint32_t made = 0;     // of a group's first member: number that have what it takes late
    Instant start{};
    bool begun = false, ended = false;
  };

  std::uint64_t index(Instance i) const { return std::uint64_t{i.instruction} * peers_ + i.peer; }
  State& at(Instance i) { return state_[index(i)]; }
  SharedResource& resource(Instance i) {
    const std::uint32_t device = graph_.device(i.instruction).value * peers_ + i.peer;
    const std::uint32_t task = program_.instructions[i.instruction].task.value;
    return resources_[std::size_t{device} * ports_ + own_.prices.resource[task]];
  }

  // Keeps sums of times within a Duration; computations take as long as they take.
  void expect_an_end() const {
    double whole = 0;
    for (const Stream& stream : program_.streams)
      whole += static_cast<double>(stream.delay.count());
    for (const Instruction& in : program_.instructions)
      if (program_.task(in).kind != TaskKind::Compute)
        whole += static_cast<double>(own_.prices.time[in.task.value].count());
    constexpr double kMost = 4e18;
    if (whole > kMost)
      throw Error(Error::Kind::InvalidInput,
                  "expected at most 127 years of communication in one step, found more");
  }

  void take(const Event& event) {
    if (event.id >= kDelay)
      return begin_stream(program_.streams[static_cast<std::size_t>(event.id - kDelay)]);
    const Instance done{static_cast<std::uint32_t>(event.id / peers_),
                        static_cast<std::uint32_t>(event.id % peers_)};
    if (event.version != at(done).version) return;
    SharedResource& shared = resource(done);
    shared.finish(InstructionId{done.instruction}, now_);
    forecast(shared, done.peer);
    if (is_compute(done)) return end(done);
    const InstanceGroup group = group_of(execution_, done);
    if (--at(group.first()).running == 0) end(group);
  }

  // A group that takes late has what it takes once all its members have made it.
  void end(const InstanceGroup& group) {
    const Instance first = group.first();
    if (graph_.takes_late(first.instruction)) {
      if (at(first).made < group.members.size()) return;
      exchange(group);
    }
    group.each_instance([&](Instance i) { end(i); });
  }

  void exchange(const InstanceGroup& group) {
    naming(program_, group.first(), [&] { execution_.exchange(group.leader, group.members); });
  }

  void begin_stream(const Stream& stream) {
    for (std::uint32_t p = 0; stream.count > 0 && p < peers_; ++p) release({stream.first, p});
  }

  void release(Instance i) {
    if (--at(i).waits > 0) return;
    if (is_compute(i)) return starting_.push_back(i);
    const InstanceGroup group = group_of(execution_, i);
    if (++at(group.first()).ready == group.size()) starting_.push_back(group.first());
  }

  void start_all() {
    for (std::size_t k = 0; k < starting_.size(); ++k) {
      if (stop_.stop_requested()) throw Error(Error::Kind::Cancelled, "the run was stopped");
      const Instance i = starting_[k];
      if (is_compute(i)) {
        const Duration before = own_.cpu_time();
        begin(i);
        run_for(i, std::max(Duration{}, own_.cpu_time() - before), 1.0);
        continue;
      }
      const InstanceGroup group = group_of(execution_, i);
      group.each_instance([&](Instance member) { begin(member); });
      if (!graph_.takes_late(i.instruction)) exchange(group);
      const std::uint32_t task = program_.instructions[i.instruction].task.value;
      at(i).running = static_cast<std::uint32_t>(group.members.size());
      group.each_leader([&](Instance member) {
        run_for(member, own_.prices.time[task], own_.prices.fill[task]);
      });
      if (const std::uint32_t reader = graph_.reader(i.instruction); reader != InstanceGraph::kNone)
        group.each_leader([&](Instance member) { release({reader, member.peer}); });
    }
    starting_.clear();
  }

  void begin(Instance i) {
    execution_.arena(graph_.device(i.instruction), static_cast<int>(i.peer)).set_time(now_);
    naming(program_, i,
           [&] { execution_.begin({i.instruction}, static_cast<int>(i.peer), own_.scratch); });
    at(i).start = now_;
    at(i).begun = true;
    live_.memory(graph_.device(i.instruction), i.peer, now_);
  }

  void run_for(Instance i, Duration alone, double fill) {
    SharedResource& shared = resource(i);
    shared.start({i.instruction}, alone, fill, now_);
    forecast(shared, i.peer);
  }

  void forecast(const SharedResource& shared, std::uint32_t peer) {
    for (const SharedResource::Finish& f : shared.finishes()) {
      const Instance i{f.instruction.value, peer};
      events_.push({f.at, index(i), ++at(i).version});
    }
  }

  void end(Instance i) {
    const DeviceId device = graph_.device(i.instruction);
    execution_.arena(device, static_cast<int>(i.peer)).set_time(now_);
    naming(program_, i, [&] { execution_.end({i.instruction}, static_cast<int>(i.peer)); });
    State& state = at(i);
    state.ended = true;
    ++ended_;
    const Span span{state.start, now_};
    if (i.peer == 0) timeline_.spans[i.instruction] = span;
    live_.span(device, i, span);
    live_.memory(device, i.peer, now_);
    for (std::uint32_t next : graph_.successors(i.instruction)) {
      if (!graph_.is_gate(next))
        release({next, i.peer});
      else if (--gates_[next - graph_.instructions()] == 0)
        for (std::uint32_t update : graph_.successors(next))
          for (std::uint32_t p = 0; p < peers_; ++p) release({update, p});
    }
    if (const std::uint32_t taker = graph_.taker(i.instruction); taker != InstanceGraph::kNone) {
      const InstanceGroup group = group_of(execution_, {taker, i.peer});
      State& first = at(group.first());
      ++first.made;
      if (first.begun && first.running == 0) end(group);
    }
  }

  bool is_compute(Instance i) const {
    return program_.task(InstructionId{i.instruction}).kind == TaskKind::Compute;
  }

  VirtualTime& own_;
  Execution& execution_;
  const Program& program_;
  const InstanceGraph& graph_;
  const std::uint32_t peers_;
  const std::stop_token stop_;
  LiveReport live_;
  std::uint32_t ports_ = 1;
  std::vector<SharedResource> resources_;  // by device and peer, then port
  std::vector<State> state_;
  std::vector<std::uint32_t> gates_;
  std::vector<Instance> starting_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  Instant now_{};
  std::size_t ended_ = 0;
  Timeline timeline_;
};

class VirtualTimeDriver final : public Driver {
 public:
  VirtualTimeDriver(const TaskPrices& prices, std::function<Duration()> cpu_time)
      : own_{prices, std::move(cpu_time)} {}

  DriverResult run(Execution& execution, int repetition, LiveSink* live,
                   std::stop_token stop) override {
    if (!own_.graph) own_.graph = std::make_unique<InstanceGraph>(execution);
    return VirtualPass(own_, execution, repetition, live, std::move(stop)).run();
  }

 private:
  VirtualTime own_;
};

}  // namespace

std::unique_ptr<Driver> virtual_time_driver(const TaskPrices& prices,
                                            std::function<Duration()> cpu_time) {
  return std::make_unique<VirtualTimeDriver>(prices, std::move(cpu_time));
}

}  // namespace trainyard

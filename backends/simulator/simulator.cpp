#include "backends/simulator/simulator.h"

#include <algorithm>
#include <optional>
#include <queue>

#include "backends/deadlock.h"
#include "backends/shared_resource.h"
#include "backends/simulator/running_transfers.h"
#include "core/program/successors.h"
#include "core/timeline/metrics.h"

namespace trainyard {
namespace {

// The loop: whatever can start at this instant starts; then time moves to the next finish, which
// releases its stream's next instruction and everything that waited for it. A finish forecast is
// void once its resource's mix has changed, which its version tells.
class EventLoop {
 public:
  EventLoop(const Program& program, const TaskPrices& prices, const RunOptions& options,
            RunningTransfers* transfers = nullptr)
      : program_(program),
        prices_(prices),
        options_(options),
        transfers_(transfers),
        successors_(program),
        work_(program.instructions.size()),
        next_(program.streams.size(), 0) {
    timeline_.backend = "simulator";
    expect_an_end();
    timeline_.spans.resize(program.instructions.size());
    std::uint8_t most = 0;
    for (std::uint8_t r : prices.resource) most = std::max(most, r);
    const std::uint32_t per_device = std::uint32_t{most} + 1;
    resources_.resize(std::size_t{per_device} * static_cast<std::size_t>(program.devices));
    busy_.resize(static_cast<std::size_t>(program.devices));
    per_device_ = per_device;
    for (std::uint32_t i = 0; i < work_.size(); ++i)
      work_[i].pending = program.instructions[i].afters + 1;
    place(per_device);
  }

  Timeline run() {
    for (std::uint32_t s = 0; s < program_.streams.size(); ++s) {
      const Stream& stream = program_.streams[s];
      if (stream.delay.count() > 0)
        events_.push({stream.delay, kDelay + s, 0});
      else
        reach_head(s, Instant{0});
    }
    std::size_t ended = 0;
    const std::size_t report_every = std::max<std::size_t>(1, program_.instructions.size() / 64);
    for (;;) {
      if (const std::optional<Instant> arrival = next_arrival()) {
        for (const std::uint32_t id : transfers_->arrive(*arrival)) {
          end(InstructionId{id}, *arrival);
          if (++ended % report_every == 0) report(ended);
        }
        continue;
      }
      if (events_.empty()) break;
      const Event event = events_.top();
      events_.pop();
      if (event.id >= kDelay) {
        reach_head(static_cast<std::uint32_t>(event.id - kDelay), event.at);
        continue;
      }
      const auto id = static_cast<std::uint32_t>(event.id);
      if (event.version != work_[id].version) continue;
      end(InstructionId{id}, event.at);
      if (++ended % report_every == 0) report(ended);
    }
    if (ended_ != program_.instructions.size()) throw deadlock(program_, next_);
    return std::move(timeline_);
  }

 private:
  struct Event {
    Instant at;
    std::uint64_t id;  // an instruction, or kDelay + a stream that may begin
    std::uint32_t version;
    // Ids count on through streams, so id order is order by stream, then position.
    friend bool operator>(const Event& a, const Event& b) {
      return a.at != b.at ? a.at > b.at : a.id > b.id;
    }
  };
  static constexpr std::uint64_t kDelay = std::uint64_t{1} << 32;

  // No instant of a run is later than all delays and work after one another, so that sums of what
  // follows stay within a Duration.
  void expect_an_end() const {
    double whole = 0;
    for (const Stream& stream : program_.streams)
      whole += static_cast<double>(stream.delay.count());
    for (const Instruction& instruction : program_.instructions)
      whole += static_cast<double>(prices_.time[instruction.task.value].count());
    constexpr double kMost = 9e18;
    if (whole > kMost)
      throw Error(Error::Kind::InvalidInput,
                  "expected at most 285 years of work in one step, found more");
  }

  /// An instruction under way; together, because all of it is asked for at once.
  struct Work {
    std::uint32_t pending = 0;  // what it still waits for, its place at its stream's head included
    std::uint32_t version = 0;  // of the newest forecast of its end
    std::uint32_t stream = 0;
    std::uint32_t resource = 0;  // index into resources_
  };

  void place(std::uint32_t per_device) {
    for (std::uint32_t s = 0; s < program_.streams.size(); ++s) {
      const Stream& stream = program_.streams[s];
      for (std::uint32_t i = stream.first; i < stream.first + stream.count; ++i) {
        work_[i].stream = s;
        work_[i].resource = stream.device.value * per_device +
                            prices_.resource[program_.instructions[i].task.value];
      }
    }
  }

  // When flows end before anything else happens.
  std::optional<Instant> next_arrival() {
    if (transfers_ == nullptr) return std::nullopt;
    const std::optional<Instant> at = transfers_->next();
    return at && (events_.empty() || *at < events_.top().at) ? at : std::nullopt;
  }

  void reach_head(std::uint32_t s, Instant now) {
    const Stream& stream = program_.streams[s];
    if (next_[s] < stream.count) release(stream.first + next_[s], now);
  }

  void release(std::uint32_t id, Instant now) {
    if (--work_[id].pending > 0) return;
    const InstructionId peer = program_.instructions[id].peer;
    if (!peer.valid()) return start(id, now);
    if (work_[peer.value].pending > 0) return;  // it starts both when it is ready
    const TaskKind kind = program_.task(program_.instructions[id]).kind;
    const bool leads = kind == TaskKind::Collective ? id < peer.value : kind == TaskKind::Send;
    start(leads ? id : peer.value, now);
  }

  // A receive runs with its send and takes its times; the port that is shared is the sender's.
  void start(std::uint32_t id, Instant now) {
    timeline_.spans[id].start = now;
    if (const InstructionId peer = program_.instructions[id].peer; peer.valid())
      timeline_.spans[peer.value].start = now;
    const std::uint32_t task = program_.instructions[id].task.value;
    if (prices_.contention > 0) count(id, 1, now);
    if (flows(id)) return transfers_->start(id, pace_of(id), now);
    SharedResource& shared = resources_[work_[id].resource];
    shared.start(InstructionId{id}, prices_.time[task], prices_.fill[task], now);
    forecast(shared);
  }

  bool flows(std::uint32_t id) const { return transfers_ != nullptr && transfers_->sends(id); }
  double pace_of(std::uint32_t id) const {
    return busy_[work_[id].resource / per_device_].both ? 1 / (1 + prices_.contention) : 1;
  }

  // Computation and collectives of a device slow each other down while both run: of two that begin
  // together the longer ends later by `contention` of the shorter.
  void count(std::uint32_t id, int change, Instant now) {
    const TaskKind kind = program_.task(program_.instructions[id]).kind;
    if (kind != TaskKind::Compute && kind != TaskKind::Collective) return;
    const std::uint32_t device = work_[id].resource / per_device_;
    Busy& busy = busy_[device];
    (kind == TaskKind::Compute ? busy.computing : busy.communicating) += change;
    const bool both = busy.computing > 0 && busy.communicating > 0;
    if (both == busy.both) return;
    busy.both = both;
    for (std::uint32_t r = device * per_device_; r < (device + 1) * per_device_; ++r) {
      resources_[r].pace(both ? 1 / (1 + prices_.contention) : 1, now);
      if (!resources_[r].idle()) forecast(resources_[r]);
    }
    if (transfers_ != nullptr)
      transfers_->pace(device, both ? 1 / (1 + prices_.contention) : 1, now);
  }

  void forecast(const SharedResource& shared) {
    for (const SharedResource::Finish& f : shared.finishes())
      events_.push({f.at, f.instruction.value, ++work_[f.instruction.value].version});
  }

  void end(InstructionId id, Instant now) {
    if (!flows(id.value)) {
      SharedResource& shared = resources_[work_[id.value].resource];
      shared.finish(id, now);
      if (!shared.finishes().empty()) forecast(shared);
    }
    if (prices_.contention > 0) count(id.value, -1, now);
    const InstructionId peer = program_.instructions[id.value].peer;
    complete(id.value, now);
    if (peer.valid()) complete(peer.value, now);
  }

  void complete(std::uint32_t id, Instant now) {
    timeline_.spans[id].end = now;
    ++ended_;
    const std::uint32_t s = work_[id].stream;
    ++next_[s];
    reach_head(s, now);
    for (const std::uint32_t next : successors_.of(id)) release(next, now);
  }

  void report(std::size_t ended) {
    if (options_.stop.stop_requested())
      throw Error(Error::Kind::Cancelled, "the simulation was stopped");
    if (options_.progress)
      options_.progress(static_cast<double>(ended) /
                        static_cast<double>(program_.instructions.size()));
  }

  const Program& program_;
  const TaskPrices& prices_;
  const RunOptions& options_;
  RunningTransfers* transfers_;  // null: every transfer has the links of its device to itself
  const Successors successors_;
  std::vector<Work> work_;
  std::vector<std::uint32_t> next_;
  std::vector<SharedResource> resources_;
  struct Busy {
    int computing = 0, communicating = 0;
    bool both = false;
  };
  std::vector<Busy> busy_;  // by device
  std::uint32_t per_device_ = 1;
  std::size_t ended_ = 0;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  Timeline timeline_;
};

}  // namespace

Timeline simulate(const Program& program, const TaskPrices& prices, const RunOptions& options) {
  return EventLoop(program, prices, options).run();
}

NetworkRun simulate(const Program& program, const TaskPrices& prices, const NetworkTraffic& traffic,
                    const RunOptions& options) {
  RunningTransfers transfers(program, traffic);
  NetworkRun run;
  run.timeline = EventLoop(program, prices, options, &transfers).run();
  run.use = transfers.use(makespan(run.timeline));
  return run;
}

Diagnostics Simulator::check(const BackendJob& job) { return verify(job.program); }

BackendRun Simulator::run(const RunOptions& options) {
  BackendRun run;
  run.timeline = simulate(job_.program, job_.prices, options);
  for (std::uint32_t d = 0; d < static_cast<std::uint32_t>(job_.program.devices); ++d)
    run.waves.push_back(memory_wave(run.timeline, job_.program, DeviceId{d}));
  return run;
}

}  // namespace trainyard

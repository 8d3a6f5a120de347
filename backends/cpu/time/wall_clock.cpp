#include <oneapi/tbb/enumerable_thread_specific.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <exception>
#include <functional>
#include <limits>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "backends/cpu/execution/instance.h"
#include "backends/cpu/execution/instance_graph.h"
#include "backends/cpu/time/alarms.h"
#include "backends/cpu/time/slow_links.h"
#include "backends/cpu/time/strand.h"
#include "backends/deadlock.h"
#include "core/program/offloaded.h"

namespace trainyard {
namespace {

using SteadyTime = std::chrono::steady_clock::time_point;

int cores() { return tbb::this_task_arena::max_concurrency(); }

// An instance is counted down by whatever it waits for and, at zero, handed to its device's strand.
// The instances of a group begin on the strands of their members; the last one to begin moves the
// data and hands all of them in again, to end.
class WallClockDriver final : public Driver {
 public:
  WallClockDriver(int threads, double link_bytes_per_second, HostRates host)
      : threads_(threads > 0 ? threads : cores()),
        links_(link_bytes_per_second),
        to_host_(host.link),
        from_host_(host.link),
        from_nvme_(host.nvme_read),
        to_nvme_(host.nvme_write) {
    if (threads_ > cores())
      more_.emplace(tbb::global_control::max_allowed_parallelism,
                    static_cast<std::size_t>(threads_));
  }

  ~WallClockDriver() noexcept override {}  // a task group's may throw, but no task is left here

  DriverResult run(Execution& execution, int repetition, LiveSink* live,
                   std::stop_token stop) override {
    prepare(execution, repetition, live, std::move(stop));
    if (workers_ == 1) {
      begin_streams();
      run_here();
    } else {
      arena_->execute([&] {
        begin_streams();
        tasks_.wait();
      });
      order_.load(std::memory_order_acquire);
    }
    if (ended_.load(std::memory_order_acquire) != here_) complain();
    return {std::move(timeline_)};
  }

 private:
  struct State {
    std::atomic<std::uint32_t> waits{0};
    std::atomic<std::uint32_t> ready{0}, begun{0};  // of a group's first member
    bool here = false, ended = false;               // written by its strand
    Instant start{};
  };

  void prepare(Execution& execution, int repetition, LiveSink* live, std::stop_token stop) {
    if (!graph_) {
      program_ = &execution.program();
      peers_ = static_cast<std::uint32_t>(execution.peers());
      graph_ = std::make_unique<InstanceGraph>(execution);
      instances_ = std::size_t{graph_->instructions()} * peers_;
      states_ = std::vector<State>(instances_);
      work_links_.resize(instances_);
      const std::size_t devices = static_cast<std::size_t>(program_->devices) * peers_;
      strands_ = std::vector<Strand>(devices);
      gates_ = std::vector<std::atomic<std::uint32_t>>(graph_->nodes() - graph_->instructions());
      find_here(execution);
      // The thread that joined the processes alone speaks to them.
      workers_ =
          execution.processes() != nullptr ? 1 : std::min(threads_, static_cast<int>(devices));
      if (workers_ > 1) arena_.emplace(workers_);
      const bool delays = std::any_of(program_->streams.begin(), program_->streams.end(),
                                      [](const Stream& s) { return s.delay.count() > 0; });
      const bool slow = links_.slow() || to_host_.slow() || from_nvme_.slow() || to_nvme_.slow();
      if (workers_ > 1 && (slow || delays)) alarms_.start();
      run_start_ = std::chrono::steady_clock::now();
    }
    for (std::uint32_t node = 0, at = 0; node < graph_->instructions(); ++node)
      for (std::uint32_t p = 0; p < peers_; ++p, ++at) {
        states_[at].waits.store(graph_->waits(node), std::memory_order_relaxed);
        states_[at].ready.store(0, std::memory_order_relaxed);
        states_[at].begun.store(0, std::memory_order_relaxed);
        states_[at].here = states_[at].ended = false;
      }
    for (std::size_t g = 0; g < gates_.size(); ++g) gates_[g] = gate_waits_[g];
    for (SlowLinks* links : {&links_, &to_host_, &from_host_, &from_nvme_, &to_nvme_})
      links->reset(strands_.size());
    execution_ = &execution;
    stop_ = std::move(stop);
    failed_ = false;
    ended_ = 0;
    start_ = start_together();
    live_.emplace(execution, live, repetition, start_ - run_start_);
    timeline_ = {};
    timeline_.clock = Timeline::Clock::Measured;
    timeline_.backend = "cpu";
    timeline_.spans.resize(program_->instructions.size());
    order_.fetch_add(1, std::memory_order_release);
  }

  // What is of this process, and how many of its instances a gate waits for.
  void find_here(const Execution& execution) {
    here_ = 0;
    gate_waits_.assign(gates_.size(), 0);
    for (std::uint32_t i = 0; i < graph_->instructions(); ++i)
      for (std::uint32_t p = 0; p < peers_; ++p) {
        if (!execution.here(graph_->device(i), static_cast<int>(p))) continue;
        ++here_;
        for (std::uint32_t next : graph_->successors(i))
          if (graph_->is_gate(next))
            ++gate_waits_[next - graph_->instructions()];
          else if (!execution.here(graph_->device(next), static_cast<int>(p)))
            throw Error(Error::Kind::Unsupported,
                        describe(*program_, InstructionId{next}) + " waits for " +
                            describe(*program_, InstructionId{i}) +
                            ", which another process runs, and no message says when it has ended");
      }
    first_peer_.assign(static_cast<std::size_t>(program_->devices), 0);
    for (std::uint32_t d = 0; d < first_peer_.size(); ++d)
      while (first_peer_[d] < peers_ &&
             !execution.here(DeviceId{d}, static_cast<int>(first_peer_[d])))
        ++first_peer_[d];
  }
  bool here(Instance i) const {
    return execution_->here(graph_->device(i.instruction), static_cast<int>(i.peer));
  }
  // Calls f for the instances of the group that are of this process.
  template <class F>
  void each_here(const InstanceGroup& group, F&& f) const {
    group.each_instance([&](Instance i) {
      if (here(i)) f(i);
    });
  }
  std::size_t size_here(const InstanceGroup& group) const {
    if (execution_->processes() == nullptr) return group.size();
    std::size_t size = 0;
    each_here(group, [&](Instance) { ++size; });
    return size;
  }

  // The clocks of processes of one machine are one. On several, each begins when all are ready.
  SteadyTime start_together() const {
    Processes* const processes = execution_->processes();
    SteadyTime start = std::chrono::steady_clock::now();
    if (processes == nullptr) return start;
    const std::int64_t own = start.time_since_epoch().count();
    std::int64_t latest = own;
    for (const std::string& one : processes->all_gather(std::to_string(own)))
      latest = std::max(latest, static_cast<std::int64_t>(std::stoll(one)));
    return processes->on_this_machine() == processes->count()
               ? SteadyTime(SteadyTime::duration(latest))
               : std::chrono::steady_clock::now();
  }

  Instant now() const { return std::chrono::steady_clock::now() - start_; }
  std::uint32_t index(Instance i) const { return i.instruction * peers_ + i.peer; }
  State& at(Instance i) { return states_[index(i)]; }
  Instance instance(std::uint32_t index) const { return {index / peers_, index % peers_}; }
  std::uint32_t device_of(Instance i) const {
    return graph_->device(i.instruction).value * peers_ + i.peer;
  }
  bool is_compute(Instance i) const {
    return program_->task(InstructionId{i.instruction}).kind == TaskKind::Compute;
  }

  void begin_streams() {
    for (const Stream& stream : program_->streams) {
      if (stream.count == 0) continue;
      const auto begin = [this, &stream] {
        for (std::uint32_t p = 0; p < peers_; ++p)
          if (here({stream.first, p})) release({stream.first, p}, kNobody);
      };
      if (stream.delay.count() > 0)
        later(start_ + stream.delay, begin);
      else
        begin();
    }
  }

  // Counts down; at zero it hands the instance, or its whole group, to its strand.
  void release(Instance i, std::uint32_t holder) {
    if (at(i).waits.fetch_sub(1, std::memory_order_acq_rel) > 1) return;
    if (is_compute(i)) return hand_in(i, holder);
    if (TravelPtr travel = execution_->announced({i.instruction}, static_cast<int>(i.peer)))
      return under_way_.push_back({i, std::move(travel), [this, i] { hand_in(i, kNobody); }});
    const InstanceGroup group = group_of(*execution_, i);
    if (at(group.first()).ready.fetch_add(1, std::memory_order_acq_rel) + 1 < size_here(group))
      return;
    each_here(group, [&](Instance member) { hand_in(member, holder); });
  }

  // holder: the device whose strand this thread owns and runs, if any.
  void hand_in(Instance i, std::uint32_t holder) {
    const std::uint32_t device = device_of(i);
    Strand& strand = strands_[device];
    if (device == holder) return strand.keep(index(i), !is_compute(i));
    if (!strand.hand_in(index(i), work_links_)) return;
    // Ending a transfer on a free device is too short to be worth a task.
    if (holder != kNobody && !is_compute(i))
      work_off(device, true);
    else
      schedule(device);
  }

  void schedule(std::uint32_t device) {
    strands_[device].hand_on();
    if (workers_ == 1)
      runnable_.push_back(device);
    else
      tasks_.run([this, device] {
        work_off(device, false);
        order_.fetch_add(1, std::memory_order_release);
      });
  }

  void run_here() {
    do {
      while (!runnable_.empty()) {
        const std::uint32_t device = runnable_.front();
        runnable_.pop_front();
        work_off(device, false);
      }
    } while (wait_for_processes() || alarms_.wait_and_do());
  }

  // Goes on with exchanges for which what other processes give has arrived.
  void look_for_arrivals() {
    for (std::size_t i = 0; i < under_way_.size();) {
      UnderWay& one = under_way_[i];
      while (one.travel != nullptr && one.travel->arrived())
        naming(*program_, one.what, [&] { one.travel = one.travel->go_on(); });
      if (one.travel != nullptr) {
        ++i;
        continue;
      }
      const std::function<void()> over = std::move(one.over);
      under_way_.erase(under_way_.begin() + static_cast<std::ptrdiff_t>(i));
      over();
    }
  }
  // Returns whether there was something to wait for and there may be something to do again.
  bool wait_for_processes() {
    for (int polls = 0; !under_way_.empty() && runnable_.empty() && !failed_; ++polls) {
      look_for_arrivals();
      if (runnable_.empty()) execution_->processes()->rest(polls);
    }
    return !runnable_.empty();
  }

  // Called with the device's strand owned. only_short: long work is left to a task of its own.
  void work_off(std::uint32_t device, bool only_short) {
    order_.load(std::memory_order_acquire);
    Strand& strand = strands_[device];
    strand.take_over();
    const auto is_short = [this](std::uint32_t work) { return !is_compute(instance(work)); };
    do {
      for (;;) {
        strand.collect(work_links_, is_short);
        std::uint32_t work = 0;
        if (strand.next_short(work)) {
          go_on(instance(work), device);
        } else if (strand.has_long()) {
          if (only_short) return schedule(device);
          strand.next_long(work);
          go_on(instance(work), device);
        } else {
          break;
        }
      }
    } while (!strand.leave());
  }

  void go_on(Instance i, std::uint32_t device) {
    if (failed_.load(std::memory_order_relaxed) || stop_.stop_requested()) return;
    try {
      if (is_compute(i)) {
        begin(i);
        end(i, device);
        if (!under_way_.empty()) look_for_arrivals();
      } else if (at(i).here) {
        end(i, device);
      } else {
        begin(i);
        at(i).here = true;
        count(group_of(*execution_, i), device);
      }
    } catch (...) {
      const std::lock_guard lock(failure_mutex_);
      if (!failed_.exchange(true)) failure_ = std::current_exception();
    }
  }

  // Counts what the group waits for before it moves data: that all its members have begun and, if
  // it takes late, that they have made what it takes.
  void count(const InstanceGroup& group, std::uint32_t holder) {
    // A collective that takes late has one end, whose members' attention counts too.
    const bool late = graph_->takes_late(group.leader.value);
    const std::size_t all = size_here(group) * (late ? 2 : 1);
    if (at(group.first()).begun.fetch_add(1, std::memory_order_acq_rel) + 1 == all)
      exchange(group, holder);
  }

  void begin(Instance i) {
    const DeviceId device = graph_->device(i.instruction);
    const auto peer = static_cast<int>(i.peer);
    at(i).start = now();
    execution_->arena(device, peer).set_time(at(i).start);
    naming(*program_, i, [&] { execution_->begin({i.instruction}, peer, scratch_.local()); });
    live_->memory(device, i.peer, at(i).start);
  }

  void exchange(const InstanceGroup& group, std::uint32_t holder) {
    Instant from = now();
    // What is made piece by piece leaves as it is made, from when all could take it.
    if (graph_->takes_late(group.leader.value)) {
      from = {};
      group.each_leader([&](Instance member) { from = std::max(from, at(member).start); });
    }
    TravelPtr travel;
    naming(*program_, group.first(),
           [&] { travel = execution_->exchange(group.leader, group.members); });
    const auto hand_in_all = [this, group](std::uint32_t with) {
      each_here(group, [&](Instance member) { hand_in(member, with); });
    };
    const auto release_readers = [this, group](std::uint32_t with) {
      const std::uint32_t reader = graph_->reader(group.leader.value);
      if (reader == InstanceGraph::kNone) return;
      group.each_leader([&](Instance member) {
        if (here({reader, member.peer})) release({reader, member.peer}, with);
      });
    };
    if (travel != nullptr)
      return under_way_.push_back({group.first(), std::move(travel), [=] {
                                     release_readers(kNobody);
                                     hand_in_all(kNobody);
                                   }});
    release_readers(holder);
    const Task& task = program_->task(group.leader);
    SlowLinks* const links = links_of(task);
    if (links == nullptr || !links->slow()) return hand_in_all(holder);
    // The transfer uses the sender's port.
    const Instant over = links->reserve(device_of(group.first()), task,
                                        static_cast<std::int64_t>(group.members.size()), from);
    if (over <= now()) return hand_in_all(holder);
    later(start_ + over, [hand_in_all] { hand_in_all(kNobody); });
  }

  // The links that an exchange uses; null if none.
  SlowLinks* links_of(const Task& task) {
    if (task.kind == TaskKind::HostUpdate) return nullptr;
    if (is_nvme(task.kind)) return task.kind == TaskKind::NvmeRead ? &from_nvme_ : &to_nvme_;
    if (task.kind != TaskKind::HostCopy) return &links_;
    return goes_up(host_cargo(task)) ? &from_host_ : &to_host_;
  }

  void later(SteadyTime at, std::function<void()> what) {
    if (workers_ == 1) return alarms_.set(at, std::move(what));
    // The handle delays the wait for all tasks until it has run.
    auto handle = std::make_shared<tbb::task_handle>(tasks_.defer([this, what = std::move(what)] {
      order_.load(std::memory_order_acquire);
      what();
    }));
    order_.fetch_add(1, std::memory_order_release);
    alarms_.set(at, [this, handle] { arena_->enqueue(std::move(*handle)); });
  }

  void end(Instance i, std::uint32_t holder) {
    const DeviceId device = graph_->device(i.instruction);
    const auto peer = static_cast<int>(i.peer);
    const Span span{at(i).start, now()};
    execution_->arena(device, peer).set_time(span.end);
    naming(*program_, i, [&] { execution_->end({i.instruction}, peer); });
    at(i).ended = true;
    if (i.peer == first_peer_[device.value]) timeline_.spans[i.instruction] = span;
    live_->span(device, i, span);
    live_->memory(device, i.peer, span.end);
    ended_.fetch_add(1, std::memory_order_release);
    for (std::uint32_t next : graph_->successors(i.instruction)) {
      if (!graph_->is_gate(next))
        release({next, i.peer}, holder);
      else if (gates_[next - graph_->instructions()].fetch_sub(1) == 1)
        open_gate(next, i, holder);
    }
    if (const std::uint32_t taker = graph_->taker(i.instruction); taker != InstanceGraph::kNone)
      count(group_of(*execution_, {taker, i.peer}), holder);
  }

  // Updates begin once no process has anything left to do that one of them waits for: what they do
  // together blocks.
  void open_gate(std::uint32_t gate, Instance last, std::uint32_t holder) {
    const auto release_all = [this, gate](std::uint32_t with) {
      for (std::uint32_t update : graph_->successors(gate))
        for (std::uint32_t p = 0; p < peers_; ++p)
          if (here({update, p})) release({update, p}, with);
    };
    if (execution_->processes() == nullptr) return release_all(holder);
    under_way_.push_back(
        {last, std::make_unique<Travel>(execution_->processes()->barrier(), [] { return nullptr; }),
         [release_all] { release_all(kNobody); }});
  }

  [[noreturn]] void complain() {
    const std::lock_guard lock(failure_mutex_);
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
    if (stop_.stop_requested()) throw Error(Error::Kind::Cancelled, "the run was stopped");
    throw deadlock(*program_, progress(*program_, peers_,
                                       [&](Instance i) { return at(i).ended || !here(i); }));
  }

  static constexpr std::uint32_t kNobody = std::numeric_limits<std::uint32_t>::max();

  const int threads_;
  std::optional<tbb::global_control> more_;

  // Belongs to the execution and is the same in every pass.
  const Program* program_ = nullptr;
  std::uint32_t peers_ = 1;
  std::unique_ptr<InstanceGraph> graph_;
  std::size_t instances_ = 0, here_ = 0;
  std::vector<std::uint32_t> gate_waits_;
  std::vector<std::uint32_t> first_peer_;  // by pipeline rank: the first of this process
  int workers_ = 1;
  std::optional<tbb::task_arena> arena_;
  tbb::task_group tasks_;
  tbb::enumerable_thread_specific<Scratch> scratch_;
  SteadyTime run_start_{};

  // Belongs to the current pass.
  Execution* execution_ = nullptr;
  std::optional<LiveReport> live_;
  std::stop_token stop_;
  SteadyTime start_{};
  SlowLinks links_, to_host_, from_host_, from_nvme_, to_nvme_;
  std::vector<State> states_;
  std::vector<std::uint32_t> work_links_;
  std::vector<Strand> strands_;  // by device and peer
  std::vector<std::atomic<std::uint32_t>> gates_;
  // Makes the ordering that TBB's tasks already give visible to a thread sanitizer.
  std::atomic<std::uint32_t> order_{0};
  std::deque<std::uint32_t> runnable_;  // devices, if one thread runs them all
  struct UnderWay {
    Instance what;
    TravelPtr travel;
    std::function<void()> over;
  };
  std::vector<UnderWay> under_way_;  // exchanges and gates that wait for other processes
  std::atomic<std::size_t> ended_{0};
  std::atomic<bool> failed_{false};
  std::mutex failure_mutex_;
  std::exception_ptr failure_;
  Timeline timeline_;
  Alarms alarms_;  // declared last, so that its thread ends before what it uses
};

}  // namespace

std::unique_ptr<Driver> wall_clock_driver(int threads, double link_bytes_per_second,
                                          HostRates host) {
  return std::make_unique<WallClockDriver>(threads, link_bytes_per_second, host);
}

}  // namespace trainyard

#include "backends/cpu/calibration/concurrent_layer.h"

#include <immintrin.h>
#include <malloc.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <mutex>
#include <string_view>
#include <thread>
#include <utility>

#include "core/base/digest.h"

namespace trainyard {

// Keeps the calling thread on one of the cores that it may use, and lets it go again. Threads that
// spin for each other on one core would only wait.
class ConcurrentLayer::Pinned {
 public:
  explicit Pinned(std::size_t core) {
    sched_getaffinity(0, sizeof before_, &before_);
    const auto allowed = static_cast<std::size_t>(CPU_COUNT(&before_));
    int cpu = -1;
    for (std::size_t left = core % std::max<std::size_t>(1, allowed) + 1;
         left > 0 && cpu + 1 < CPU_SETSIZE;)
      if (CPU_ISSET(static_cast<std::size_t>(++cpu), &before_)) --left;
    cpu_set_t own;
    CPU_ZERO(&own);
    CPU_SET(static_cast<std::size_t>(cpu), &own);
    sched_setaffinity(0, sizeof own, &own);
  }
  ~Pinned() { sched_setaffinity(0, sizeof before_, &before_); }
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;

 private:
  cpu_set_t before_;
};

// Where threads wait for each other. They spin, because a thread that sleeps took 50 us to wake
// here, as long as a stage, and one that gives up its core to another program has it back after 3
// ms. They give it up all the same when the others are very late, who may need it.
class ConcurrentLayer::Meeting {
 public:
  explicit Meeting(std::size_t threads)
      : threads_(threads),
        patience_(threads <= std::thread::hardware_concurrency() ? 1 << 20 : 0) {}

  void arrive_and_wait() {
    const std::size_t held = held_.load(std::memory_order_acquire);
    if (there_.fetch_add(1, std::memory_order_acq_rel) + 1 == threads_) {
      there_.store(0, std::memory_order_relaxed);
      held_.store(held + 1, std::memory_order_release);
      return;
    }
    for (int spins = 0; held_.load(std::memory_order_acquire) == held;)
      if (spins < patience_)
        ++spins, _mm_pause();
      else
        std::this_thread::yield();
  }

 private:
  const std::size_t threads_;
  const int patience_;  // some tens of milliseconds, where each thread has a core
  std::atomic<std::size_t> there_{0}, held_{0};
};

// A thread for each core, which sleeps between runs.
class ConcurrentLayer::Cores {
 public:
  using Work = std::function<void(std::size_t stage, std::size_t core, Scratch&)>;

  explicit Cores(int count)
      : scratch_(static_cast<std::size_t>(count)), meeting_(static_cast<std::size_t>(count)) {
    for (std::size_t core = 0; core < scratch_.size(); ++core)
      threads_.emplace_back([this, core](const std::stop_token& stop) {
        const Pinned pinned(core);
        for (std::size_t next = 1; wait_for(next, stop); ++next) take_part(core);
      });
  }

  std::size_t count() const { return scratch_.size(); }

  /// Calls work for every core in every stage, twice over, and returns the time by the clock of the
  /// second time, since all cores were there.
  Duration run(std::size_t stages, const Work& work) {
    std::unique_lock lock(mutex_);
    stages_ = stages, work_ = &work, ended_ = 0;
    ++runs_;
    changed_.notify_all();
    changed_.wait(lock, [&] { return ended_ == count(); });
    return took_;
  }

 private:
  /// Returns false if it is stopped instead.
  bool wait_for(std::size_t run, const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    return changed_.wait(lock, stop, [&] { return runs_ >= run; });
  }

  void take_part(std::size_t core) {
    Duration took{};
    for (int pass = 0; pass < 2; ++pass) {  // the first brings operands into the caches
      meeting_.arrive_and_wait();
      const auto start = std::chrono::steady_clock::now();
      for (std::size_t stage = 0; stage < stages_; ++stage) {
        (*work_)(stage, core, scratch_[core]);
        meeting_.arrive_and_wait();
      }
      took = std::chrono::steady_clock::now() - start;
    }
    const std::scoped_lock lock(mutex_);
    if (core == 0) took_ = took;
    ++ended_;
    changed_.notify_all();
  }

  std::vector<Scratch> scratch_;  // by core
  Meeting meeting_;
  std::mutex mutex_;  // of what follows, which stays as it is while cores work
  std::condition_variable_any changed_;
  std::size_t runs_ = 0, stages_ = 0, ended_ = 0;
  const Work* work_ = nullptr;
  Duration took_{};
  std::vector<std::jthread> threads_;  // last, so that they end before what they use
};

namespace {

// Threads have memory of their own that stays with them, and large operands pages of their own.
// Without that a stage of two cores took 100 us longer here in each run of the program; with it, in
// one of three.
void keep_memory() {
#ifdef __GLIBC__
  mallopt(M_TRIM_THRESHOLD, std::numeric_limits<int>::max());
  mallopt(M_MMAP_THRESHOLD, 128 << 10);
  mallopt(M_TOP_PAD, 64 << 20);
#endif
}

}  // namespace

ConcurrentLayer::ConcurrentLayer(const Workload& workload, std::size_t body, bool backward,
                                 int cores, std::vector<std::vector<int>> merges)
    : workload_(workload),
      body_(body),
      backward_(backward),
      merges_(std::move(merges)),
      cores_(std::make_unique<Cores>(cores)),
      first_core_(std::make_unique<Cores>(1)) {
  keep_memory();
  own_ = make_operands();
}

ConcurrentLayer::~ConcurrentLayer() = default;

ConcurrentLayer::Operands ConcurrentLayer::make_operands() const {
  const Body& layer = workload_.bodies[body_];
  const Graph& graph = workload_.scenario.model.blocks[static_cast<std::size_t>(layer.block)].graph;
  Operands made;
  made.layers = std::make_unique<Rehearsal>(workload_, Bytes{1});  // a layer of each kind
  made.layers->run([](const Work&, Duration) {});
  made.bound = made.layers->bind(body_, backward_ ? layer.backward : layer.forward);
  for (const std::vector<int>& merge : merges_) {
    std::vector<const Rehearsal::Bound*> parts;
    for (const int op : merge) parts.push_back(&made.bound[static_cast<std::size_t>(op)]);
    made.merged.emplace_back(graph, layer.binding, std::move(parts));
  }
  made.lay_side_by_side();
  return made;
}

// Each tensor lies in the largest merge that it is dense in, as if memory had been planned for
// that.
void ConcurrentLayer::Operands::lay_side_by_side() {
  std::vector<std::vector<TensorView>> all;
  for (const MergedKernel& merge : merged)
    for (std::vector<TensorView>& views : merge.dense_operands()) all.push_back(std::move(views));
  std::stable_sort(all.begin(), all.end(),
                   [](const auto& a, const auto& b) { return a.size() > b.size(); });
  side_by_side = std::make_unique<Scratch>();
  std::map<const void*, void*> moved;
  for (const std::vector<TensorView>& views : all) {
    if (std::any_of(views.begin(), views.end(),
                    [&](const TensorView& view) { return moved.count(view.data) > 0; }))
      continue;
    std::int64_t elements = 0;
    for (const TensorView& view : views) elements += view.elements();
    float* next = side_by_side->floats(elements);
    for (const TensorView& view : views) {
      std::memcpy(next, view.data, static_cast<std::size_t>(view.bytes().value));
      moved[view.data] = next;
      next += view.elements();
    }
  }
  for (Rehearsal::Bound& one : bound)
    for (std::vector<TensorView>* list : {&one.inputs, &one.outputs, &one.output_gradients,
                                          &one.input_gradients, &one.weight_gradients})
      for (TensorView& view : *list)
        if (const auto found = moved.find(view.data); found != moved.end())
          view.data = found->second;
}

void ConcurrentLayer::Operands::run(int op, Scratch& scratch) const {
  const auto at = static_cast<std::size_t>(op);
  if (at < bound.size())
    layers->run(bound[at], scratch);
  else
    merged[at - bound.size()].run(scratch);
}

void ConcurrentLayer::time_ops(Times& least) {
  const std::size_t ops = own_.size();
  while (others_.size() + 1 < cores_->count()) others_.push_back(make_operands());
  const auto lower = [&](Cores& cores, std::vector<Duration>& times) {
    std::vector<std::vector<Duration>> took(cores.count(), std::vector<Duration>(ops));
    cores.run(1, [&](std::size_t, std::size_t core, Scratch& scratch) {
      const Operands& operands = core == 0 ? own_ : others_[core - 1];
      auto before = std::chrono::steady_clock::now();
      for (std::size_t op = 0; op < ops; ++op) {
        operands.run(static_cast<int>(op), scratch);
        const auto now = std::chrono::steady_clock::now();
        took[core][op] = now - std::exchange(before, now);
      }
    });
    times.resize(ops, Duration::max());
    for (std::size_t op = 0; op < ops; ++op) {
      // While one core is kept from its work, it takes long and leaves the others alone.
      Duration all{};
      for (const std::vector<Duration>& core : took) all += core[op];
      times[op] = std::min(times[op], all / static_cast<std::int64_t>(took.size()));
    }
  };
  lower(*first_core_, least.alone);
  lower(*cores_, least.beside);
  for (std::size_t op = 0; op < ops; ++op)
    least.beside[op] = std::max(least.alone[op], least.beside[op]);
  std::vector<Duration> took(own_.bound.size());
  cores_->run(took.size(), [&](std::size_t op, std::size_t core, Scratch& scratch) {
    if (core != op % cores_->count()) return;
    const auto before = std::chrono::steady_clock::now();
    own_.run(static_cast<int>(op), scratch);
    took[op] = std::chrono::steady_clock::now() - before;
  });
  least.alternating.resize(took.size(), Duration::max());
  for (std::size_t op = 0; op < took.size(); ++op)
    least.alternating[op] = std::min(least.alternating[op], took[op]);
  least.join = std::min(least.join, time_join());
}

Duration ConcurrentLayer::time_join() {
  if (cores_->count() == 1) return {};
  constexpr std::size_t kStages = 16;
  constexpr Duration kWork = std::chrono::microseconds(20);  // of a short stage
  const Duration took = cores_->run(kStages, [&](std::size_t, std::size_t, Scratch&) {
    const auto end = std::chrono::steady_clock::now() + kWork;
    while (std::chrono::steady_clock::now() < end) {
    }
  });
  return std::max(Duration{}, took / std::int64_t{kStages} - kWork);
}

Duration ConcurrentLayer::run(const std::vector<OpsOfCores>& stages) {
  const bool one_core = std::all_of(stages.begin(), stages.end(),
                                    [](const OpsOfCores& stage) { return stage.size() == 1; });
  return (one_core ? *first_core_ : *cores_)
      .run(stages.size(), [&](std::size_t stage, std::size_t core, Scratch& scratch) {
        if (core >= stages[stage].size()) return;
        for (const int op : stages[stage][core]) own_.run(op, scratch);
      });
}

template <class F>
void ConcurrentLayer::each_written(F&& f) const {
  const auto each = [&](const std::vector<TensorView>& list) {
    for (const TensorView& view : list)
      if (view.there()) f(view);
  };
  for (const Rehearsal::Bound& bound : own_.bound) {
    if (bound.op->pass == Pass::Forward) each(bound.outputs);
    each(bound.input_gradients), each(bound.weight_gradients);
  }
}

std::uint64_t ConcurrentLayer::digest() const {
  Digest digest;
  each_written([&](const TensorView& view) {
    digest.add(std::string_view(static_cast<const char*>(view.data),
                                static_cast<std::size_t>(view.bytes().value)));
  });
  return digest.value();
}

double ConcurrentLayer::difference(const ConcurrentLayer& there) const {
  std::vector<TensorView> others;
  there.each_written([&](const TensorView& view) { others.push_back(view); });
  double most = 0;
  std::size_t next = 0;
  each_written([&](const TensorView& view) {
    const TensorView& other = others[next++];
    if (view.type != DType::F32) return;
    double difference = 0, largest = 0;
    for (std::int64_t i = 0; i < view.elements(); ++i) {
      const double is = view.f32()[i], was = other.f32()[i];
      difference =
          std::max(difference, std::isfinite(is) ? std::abs(is - was)
                                                 : std::numeric_limits<double>::infinity());
      largest = std::max(largest, std::abs(was));
    }
    if (difference > 0) most = std::max(most, difference / largest);
  });
  return most;
}

}  // namespace trainyard

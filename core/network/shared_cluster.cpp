#include "core/network/shared_cluster.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "core/base/error.h"
#include "core/base/random.h"
#include "core/network/flow_engine.h"
#include "core/network/switch_slots.h"

namespace trainyard {
namespace {

constexpr double kForever = std::numeric_limits<double>::infinity();

// Links by number: of hosts up and down, then of leaves up to and down from each spine.
class LeavesAndSpines {
 public:
  explicit LeavesAndSpines(const SharedClusterQuestion& q) : q_(q) {}
  std::int64_t of_leaf() const { return q_.jobs + q_.hosts; }
  std::int64_t hosts() const { return q_.leaves * of_leaf(); }
  std::int64_t worker(std::int64_t job, std::int64_t leaf) const { return leaf * of_leaf() + job; }
  std::int64_t other(std::int64_t number) const {
    return number / q_.hosts * of_leaf() + q_.jobs + number % q_.hosts;
  }
  std::size_t links() const {
    return static_cast<std::size_t>(2 * hosts() + 2 * q_.leaves * q_.spines);
  }
  bool between_switches(std::size_t link) const {
    return link >= static_cast<std::size_t>(2 * hosts());
  }
  std::uint32_t up(std::int64_t host) const { return static_cast<std::uint32_t>(host); }
  std::uint32_t down(std::int64_t host) const { return static_cast<std::uint32_t>(hosts() + host); }
  std::uint32_t leaf_up(std::int64_t leaf, std::int64_t spine) const {
    return static_cast<std::uint32_t>(2 * hosts() + leaf * q_.spines + spine);
  }
  std::uint32_t leaf_down(std::int64_t leaf, std::int64_t spine) const {
    return static_cast<std::uint32_t>(2 * hosts() + (q_.leaves + leaf) * q_.spines + spine);
  }
  std::vector<FlowLink> route(std::int64_t from, std::int64_t to, std::uint64_t hash) const {
    std::vector<FlowLink> path{{up(from), 1}};
    if (from / of_leaf() != to / of_leaf()) {
      const auto spine = static_cast<std::int64_t>(hash % static_cast<std::uint64_t>(q_.spines));
      path.push_back({leaf_up(from / of_leaf(), spine), 1});
      path.push_back({leaf_down(to / of_leaf(), spine), 1});
    }
    path.push_back({down(to), 1});
    return path;
  }
  // One stream of every worker to its leaf and of every leaf to the spine, and the sum back.
  std::vector<FlowLink> tree(std::int64_t job, std::int64_t spine) const {
    std::vector<FlowLink> path;
    for (std::int64_t leaf = 0; leaf < q_.leaves; ++leaf)
      for (const std::uint32_t link : {up(worker(job, leaf)), leaf_up(leaf, spine),
                                       leaf_down(leaf, spine), down(worker(job, leaf))})
        path.push_back({link, 1});
    return path;
  }

 private:
  const SharedClusterQuestion& q_;
};

struct JobFlow {
  std::vector<FlowLink> path;
  double bytes = 0, weight = 1, most = kForever;
};
using JobFlows = std::vector<std::vector<JobFlow>>;  // by job

double bytes_of(Bytes b) { return static_cast<double>(b.value); }

// Every message of a ring crosses to the next leaf, by the path that a hash chooses.
JobFlows rings_of(const SharedClusterQuestion& q, const LeavesAndSpines& fabric) {
  JobFlows flows(static_cast<std::size_t>(q.jobs));
  const auto p = static_cast<double>(q.leaves);
  for (std::int64_t j = 0; j < q.jobs; ++j)
    for (std::int64_t i = 0; i < q.leaves * q.connections; ++i) {
      const std::int64_t leaf = i / q.connections;
      const std::uint64_t hash =
          Random(q.seed, static_cast<std::uint64_t>(j)).bits(static_cast<std::uint64_t>(i));
      const std::int64_t next = fabric.worker(j, (leaf + 1) % q.leaves);
      flows[static_cast<std::size_t>(j)].push_back(
          {fabric.route(fabric.worker(j, leaf), next, hash),
           2 * bytes_of(q.gradients) * (p - 1) / p / static_cast<double>(q.connections), 1,
           kForever});
    }
  return flows;
}

double slots_of_job(const SharedClusterQuestion& q) {
  return share_of_slots(static_cast<double>(q.slots), q.packet, q.round_trip,
                        static_cast<double>(q.jobs), q.link);
}

double part_in_switches(const SharedClusterQuestion& q) {
  const auto p = static_cast<double>(q.leaves);
  return share_in_switches(slots_of_job(q), 2 * (p - 1) / p);
}

// The first spine of a job is hashed, and its other trees take the ones that follow. A job has one
// window for all its trees, but a connection of a ring one of its own.
JobFlows trees_of(const SharedClusterQuestion& q, const LeavesAndSpines& fabric,
                  const JobFlows& rings, std::int64_t trees) {
  const double slots = slots_of_job(q), part = part_in_switches(q);
  const auto connections = static_cast<double>(q.connections), all = static_cast<double>(trees);
  const double windows = slots + (1 - slots) * connections;
  JobFlows flows;
  for (std::int64_t j = 0; j < q.jobs; ++j) {
    const std::int64_t first =
        Random(q.seed, 1'000).between(static_cast<std::uint64_t>(j), 0, q.spines - 1);
    std::vector<JobFlow>& of = flows.emplace_back();
    for (std::int64_t t = 0; t < trees; ++t)
      of.push_back({fabric.tree(j, (first + t) % q.spines), part * bytes_of(q.gradients) / all,
                    slots * windows / all, slots * q.link.value * 1e-9 / all});
    if (slots == 1) continue;
    for (JobFlow around : rings[static_cast<std::size_t>(j)]) {
      around.bytes *= 1 - part;
      around.weight = (1 - slots) * windows / connections;
      of.push_back(std::move(around));
    }
  }
  return flows;
}

double lone_nanoseconds(const SharedClusterQuestion& q, const LeavesAndSpines& fabric,
                        const std::vector<JobFlow>& job) {
  FlowEngine engine(std::vector<double>(fabric.links(), q.link.value * 1e-9));
  for (const JobFlow& f : job) engine.start({f.path, f.bytes, f.weight, f.most}, 0);
  double end = 0;
  while (const std::optional<double> next = engine.next()) engine.finish(end = *next);
  return end;
}

double worst_link(const LeavesAndSpines& fabric, const JobFlows& jobs) {
  std::vector<double> bytes(fabric.links(), 0.0);
  for (const auto& job : jobs)
    for (const JobFlow& f : job)
      for (const FlowLink& over : f.path)
        if (fabric.between_switches(over.link)) bytes[over.link] += over.flows * f.bytes;
  return *std::max_element(bytes.begin(), bytes.end());
}

struct ShortFlow {
  double begins = 0;
  std::vector<FlowLink> path;
};

// Arrivals are a Poisson process; ends are drawn evenly from the hosts.
std::vector<ShortFlow> short_flows(const SharedClusterQuestion& q, const LeavesAndSpines& fabric) {
  std::vector<ShortFlow> flows;
  if (q.load <= 0) return flows;
  const Random random(q.seed, 2'000);
  const double rate = q.link.value * 1e-9;  // bytes a nanosecond of one host
  const auto hosts = q.leaves * q.hosts;
  // So many bytes a nanosecond leave the leaves: those whose ends are below two leaves.
  const double uplinks = rate * static_cast<double>(q.leaves * q.spines);
  const double crossing = static_cast<double>(hosts - q.hosts) /
                          static_cast<double>(std::max<std::int64_t>(1, hosts - 1));
  const double between = bytes_of(q.message) * crossing / (uplinks * q.load);
  double now = 0;
  for (std::int64_t i = 0; i < q.messages; ++i) {
    const auto at = static_cast<std::uint64_t>(4 * i);
    now += -std::log(1 - random.uniform(at)) * between;
    const std::int64_t from = random.between(at + 1, 0, hosts - 1);
    const std::int64_t to = (from + random.between(at + 2, 1, hosts - 1)) % hosts;
    flows.push_back({now, fabric.route(fabric.other(from), fabric.other(to), random.bits(at + 3))});
  }
  return flows;
}

// A study of jobs beside short flows, of which one row is asked after another.
struct Watch {
  std::stop_token stop;
  const std::function<void(double)>& progress;
  double rows = 1, row = 0;

  void look(std::size_t done, std::size_t all) const {
    if (stop.stop_requested())
      throw Error(Error::Kind::Cancelled, "the study of the network was stopped");
    if (progress && all > 0)
      progress((row + static_cast<double>(done) / static_cast<double>(all)) / rows);
  }
};

// Jobs that compute, reduce, and compute again on a network with short flows.
class SharedRun {
 public:
  SharedRun(const SharedClusterQuestion& q, const LeavesAndSpines& fabric, const JobFlows& jobs,
            double compute, double ring)
      : q_(q),
        jobs_(jobs),
        shorts_(short_flows(q, fabric)),
        engine_(std::vector<double>(fabric.links(), q.link.value * 1e-9)),
        compute_(compute),
        state_(jobs.size()) {
    const Random random(q.seed, 3'000);
    for (std::size_t j = 1; j < jobs.size(); ++j) {
      const double at = (compute + ring) * random.uniform(j) - compute;  // in the cycle of a ring
      state_[j].begins = std::max(0.0, -at);
      if (at > 0) state_[j].share = 1 - at / ring;
    }
  }

  void run(const Watch& watch) {
    constexpr std::size_t kReductions = 2;  // of each job, where no short flows are measured
    const std::size_t wanted = shorts_.empty() ? jobs_.size() * kReductions : shorts_.size();
    for (std::size_t done = 0; done < wanted;) {
      step();
      done = completions_.size();
      if (shorts_.empty())
        for (const Job& job : state_) done += std::min(kReductions, job.reductions);
      if (++steps_ % 64 == 0 || done == wanted) watch.look(done, wanted);
    }
    count_parts();
  }

  void state(SharedClusterRow& row) {
    row.all_reduce_seconds = reduced_ > 0 ? 1e-9 * reducing_ / reduced_ : 0;
    if (completions_.empty()) return;
    std::sort(completions_.begin(), completions_.end());
    const std::size_t n = completions_.size();
    for (const double c : completions_) row.mean_completion += 1e-9 * c / static_cast<double>(n);
    for (std::size_t percent = 0; percent <= 100; ++percent)
      row.completions.push_back(1e-9 * completions_[(n - 1) * percent / 100]);
    row.p99_completion = row.completions[99];
  }

 private:
  struct Job {
    double begins = 0;  // its reduction that is under way, or its next one
    double share = 1;   // of that reduction which was left where the study began
    std::vector<std::optional<FlowEngine::Id>> flows;  // under way, by place in its JobFlows
    std::size_t left = 0, reductions = 0;
  };
  struct Owner {
    std::size_t of = 0, place = 0;  // job and place in it, or jobs_.size() + short flow
  };

  void own(FlowEngine::Id id, Owner owner) {
    if (owners_.size() <= id) owners_.resize(std::size_t{id} + 1);
    owners_[id] = owner;
  }

  // Goes on to what comes next: the end of a flow, the reduction of a job, or a short flow.
  void step() {
    double at = begun_ < shorts_.size() ? shorts_[begun_].begins : kForever;
    std::size_t job = jobs_.size();
    for (std::size_t j = 0; j < jobs_.size(); ++j)
      if (state_[j].left == 0 && state_[j].begins < at) at = state_[j].begins, job = j;
    const std::optional<double> end = engine_.next();
    if (end && *end <= at) {
      now_ = *end;
      for (const FlowEngine::Id id : engine_.finish(now_)) finish(owners_[id]);
    } else if (job < jobs_.size()) {
      reduce(job, at);
    } else {
      own(engine_.start({shorts_[begun_].path, bytes_of(q_.message)}, at),
          {jobs_.size() + begun_, 0});
      ++begun_;
    }
  }

  void reduce(std::size_t j, double at) {
    Job& job = state_[j];
    job.left = jobs_[j].size();
    job.flows.clear();
    for (const JobFlow& f : jobs_[j]) {
      const FlowEngine::Id id = engine_.start({f.path, job.share * f.bytes, f.weight, f.most}, at);
      own(id, {j, job.flows.size()});
      job.flows.emplace_back(id);
    }
  }

  void finish(Owner owner) {
    if (owner.of >= jobs_.size()) {
      completions_.push_back(now_ - shorts_[owner.of - jobs_.size()].begins);
      return;
    }
    Job& job = state_[owner.of];
    job.flows[owner.place].reset();
    if (--job.left > 0) return;
    reducing_ += now_ - job.begins, reduced_ += job.share;
    ++job.reductions;
    job.begins = now_ + compute_, job.share = 1;
  }

  // A reduction is as far as the slowest of its flows.
  void count_parts() {
    engine_.settle_all(now_);
    for (std::size_t j = 0; j < jobs_.size(); ++j) {
      const Job& job = state_[j];
      if (job.left == 0) continue;
      double left = 0;
      for (std::size_t i = 0; i < job.flows.size(); ++i)
        if (job.flows[i])
          left = std::max(left, engine_.left(*job.flows[i]) / (job.share * jobs_[j][i].bytes));
      reducing_ += now_ - job.begins, reduced_ += job.share * (1 - left);
    }
  }

  const SharedClusterQuestion& q_;
  const JobFlows& jobs_;
  std::vector<ShortFlow> shorts_;
  FlowEngine engine_;
  double compute_;
  std::vector<Job> state_;
  std::vector<Owner> owners_;  // by flow
  std::vector<double> completions_;
  std::size_t begun_ = 0, steps_ = 0;
  double now_ = 0;
  double reducing_ = 0, reduced_ = 0;  // time of all jobs, and how many reductions that were
};

void expect_range(bool fine, std::string_view what) {
  if (!fine) throw Error(Error::Kind::InvalidInput, std::string(what), {"shared cluster"});
}

}  // namespace

SharedClusterAnswer shared_cluster(const SharedClusterQuestion& q, std::stop_token stop,
                                   const std::function<void(double)>& progress) {
  expect_range(q.leaves >= 2 && q.hosts >= 1 && q.spines >= 1,
               "expected at least 2 leaves, 1 host of each and 1 spine");
  expect_range(q.jobs >= 1 && q.messages >= 0,
               "expected at least 1 job and no fewer than 0 messages");
  expect_range(q.trees >= 1 && q.trees <= q.spines, "expected 1 tree to as many as spines");
  expect_range(q.communication > 0 && q.communication < 1 && q.load >= 0 && q.load < 1,
               "expected a share of communication in (0, 1) and a load in [0, 1)");
  expect_range(q.connections >= 1 && q.link.value > 0 && q.gradients.value > 0 &&
                   q.message.value > 0 && q.slots > 0 && q.packet.value > 0 &&
                   q.round_trip.count() > 0,
               "expected rates, bytes, connections, slots and times above 0");
  const LeavesAndSpines fabric(q);
  const JobFlows rings = rings_of(q, fabric);
  const double ring = lone_nanoseconds(q, fabric, rings.front());
  const double compute = ring * (1 - q.communication) / q.communication;
  constexpr std::int64_t kNumber = 4;  // bytes
  SharedClusterAnswer answer{
      q,
      {},
      1e-9 * compute,
      study_switch_sums(q.leaves, std::max<std::int64_t>(1, q.packet.value / kNumber), q.seed)};
  Watch watch{std::move(stop), progress, q.trees > 1 ? 3.0 : 2.0};
  const auto add = [&](std::string name, const JobFlows& jobs, double in_switches) {
    SharedClusterRow row{.reduction = std::move(name),
                         .lone_seconds = 1e-9 * lone_nanoseconds(q, fabric, jobs.front()),
                         .worst_link = worst_link(fabric, jobs),
                         .in_switches = in_switches,
                         .completions = {}};
    SharedRun run(q, fabric, jobs, compute, ring);
    run.run(watch);
    run.state(row);
    answer.rows.push_back(std::move(row));
    ++watch.row;
  };
  const double part = part_in_switches(q);
  add("ring", rings, 0);
  add("1 tree", trees_of(q, fabric, rings, 1), part);
  if (q.trees > 1) add(fmt::format("{} trees", q.trees), trees_of(q, fabric, rings, q.trees), part);
  return answer;
}

}  // namespace trainyard

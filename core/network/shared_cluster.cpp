#include "core/network/shared_cluster.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>

#include "core/base/error.h"
#include "core/base/random.h"
#include "core/network/flow_engine.h"

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

// The first spine of a job is hashed, and its other trees take the ones that follow.
JobFlows trees_of(const SharedClusterQuestion& q, const LeavesAndSpines& fabric,
                  std::int64_t trees) {
  std::vector<std::vector<std::int64_t>> spines;  // by job
  for (std::int64_t j = 0; j < q.jobs; ++j) {
    const std::int64_t first =
        Random(q.seed, 1'000).between(static_cast<std::uint64_t>(j), 0, q.spines - 1);
    spines.emplace_back();
    for (std::int64_t t = 0; t < trees; ++t) spines.back().push_back((first + t) % q.spines);
  }
  JobFlows flows;
  const double in_flight =
      static_cast<double>(q.slots) * bytes_of(q.packet) / static_cast<double>(q.round_trip.count());
  const std::int64_t through_leaf = q.jobs * trees;  // all of them; a spine has fewer
  for (std::int64_t j = 0; j < q.jobs; ++j) {
    flows.emplace_back();
    for (const std::int64_t spine : spines[static_cast<std::size_t>(j)]) {
      flows.back().push_back({fabric.tree(j, spine),
                              bytes_of(q.gradients) / static_cast<double>(trees),
                              1 / static_cast<double>(trees),  // a job has one window for all
                              in_flight / static_cast<double>(through_leaf)});
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

struct Shared {
  double all_reduce = 0, mean = 0, p99 = 0;  // nanoseconds
};

// Jobs compute, reduce, and compute again, until the last short flow has arrived. They begin at
// drawn places of their first computation.
Shared run_shared(const SharedClusterQuestion& q, const LeavesAndSpines& fabric,
                  const JobFlows& jobs, double compute) {
  FlowEngine engine(std::vector<double>(fabric.links(), q.link.value * 1e-9));
  const std::vector<ShortFlow> shorts = short_flows(q, fabric);
  std::vector<double> completions;
  struct Job {
    double begins = 0;
    std::size_t left = 0;
  };
  std::vector<Job> state(jobs.size());
  const Random random(q.seed, 3'000);
  for (std::size_t j = 0; j < jobs.size(); ++j) state[j].begins = compute * random.uniform(j);
  std::vector<std::size_t> owner;  // by flow: job, or jobs.size() + short flow
  double reduced = 0;
  std::int64_t reductions = 0;
  std::size_t begun = 0;
  const auto own = [&](FlowEngine::Id id, std::size_t of) {
    if (owner.size() <= id) owner.resize(std::size_t{id} + 1);
    owner[id] = of;
  };
  while (completions.size() < shorts.size()) {
    double at = begun < shorts.size() ? shorts[begun].begins : kForever;
    std::size_t job = jobs.size();
    for (std::size_t j = 0; j < jobs.size(); ++j)
      if (state[j].left == 0 && state[j].begins < at) at = state[j].begins, job = j;
    const std::optional<double> end = engine.next();
    if (end && *end <= at) {
      for (const FlowEngine::Id id : engine.finish(*end)) {
        const std::size_t of = owner[id];
        if (of >= jobs.size()) {
          completions.push_back(*end - shorts[of - jobs.size()].begins);
        } else if (--state[of].left == 0) {
          reduced += *end - state[of].begins, ++reductions;
          state[of].begins = *end + compute;
        }
      }
    } else if (job < jobs.size()) {
      state[job].left = jobs[job].size();
      for (const JobFlow& f : jobs[job])
        own(engine.start({f.path, f.bytes, f.weight, f.most}, at), job);
    } else {
      own(engine.start({shorts[begun].path, bytes_of(q.message)}, at), jobs.size() + begun);
      ++begun;
    }
  }
  Shared found;
  found.all_reduce = reductions > 0 ? reduced / static_cast<double>(reductions) : 0;
  if (completions.empty()) return found;
  std::sort(completions.begin(), completions.end());
  for (const double c : completions) found.mean += c / static_cast<double>(completions.size());
  found.p99 = completions[(completions.size() - 1) * 99 / 100];
  return found;
}

void expect_range(bool fine, std::string_view what) {
  if (!fine) throw Error(Error::Kind::InvalidInput, std::string(what), {"shared cluster"});
}

}  // namespace

SharedClusterAnswer shared_cluster(const SharedClusterQuestion& q) {
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
  SharedClusterAnswer answer{q, {}};
  const JobFlows rings = rings_of(q, fabric);
  const double ring = lone_nanoseconds(q, fabric, rings.front());
  const double compute = ring * (1 - q.communication) / q.communication;
  const auto add = [&](std::string name, const JobFlows& jobs) {
    const Shared shared = run_shared(q, fabric, jobs, compute);
    answer.rows.push_back({std::move(name), 1e-9 * lone_nanoseconds(q, fabric, jobs.front()),
                           1e-9 * shared.all_reduce, 1e-9 * shared.mean, 1e-9 * shared.p99,
                           worst_link(fabric, jobs)});
  };
  add("ring", rings);
  add("1 tree", trees_of(q, fabric, 1));
  if (q.trees > 1) add(fmt::format("{} trees", q.trees), trees_of(q, fabric, q.trees));
  return answer;
}

}  // namespace trainyard

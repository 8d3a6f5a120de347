// network: training jobs and short flows on one network, with reduction in rings or in the
// switches.
#include <algorithm>

#include "app/cli/text/clusters/shared_cluster_text.h"
#include "app/cli/text/plans/scenario_words.h"
#include "app/cli/verb.h"
#include "core/network/shared_cluster.h"

namespace trainyard {
namespace {

int run_network(const Words& words, Streams& streams) {
  constexpr std::int64_t kMostJobs = 64, kMostLeaves = 64, kMostSpines = 64, kMostConnections = 64,
                         kMostMessages = 100'000, kMostSlots = 1'000'000'000;
  constexpr double kLeast = 0.01, kMost = 0.99;
  SharedClusterQuestion q;
  q.jobs = words.integer("jobs", 1, kMostJobs, q.jobs);
  q.leaves = words.integer("leaves", 2, kMostLeaves, q.leaves);
  q.spines = words.integer("spines", 1, kMostSpines, q.spines);
  q.trees = words.integer("trees", 1, q.spines, std::min(q.trees, q.spines));
  q.connections = words.integer("connections", 1, kMostConnections, q.connections);
  q.load = words.number("load", 0, kMost, q.load);
  q.communication = words.number("communication", kLeast, kMost, q.communication);
  q.slots = words.integer("slots", 1, kMostSlots, q.slots);
  q.messages = words.integer("messages", 0, kMostMessages, q.messages);
  q.seed = static_cast<std::uint64_t>(
      words.integer("seed", 0, 1'000'000'000, static_cast<std::int64_t>(q.seed)));
  const SharedClusterAnswer found = shared_cluster(q);
  deliver(words.has("json") ? shared_cluster_document(found) : shared_cluster_text(found), words,
          streams);
  return kDone;
}

}  // namespace

Verb network_verb() {
  return {
      .name = "network",
      .summary =
          "Jobs that share a network with short flows, when they reduce in rings and when the "
          "switches add up.",
      .flags = {{"jobs", "J",
                 "training jobs, each with a worker below every leaf, 1 to 64 (default 8)"},
                {"leaves", "L", "leaf switches, 2 to 64 (default 16)"},
                {"spines", "S", "spine switches, 1 to 64 (default 4)"},
                {"trees", "K", "aggregation trees of a job, at most as many as spines (default 4)"},
                {"connections", "C",
                 "between neighbours of a ring, each on a path that a hash chooses, 1 to 64; each "
                 "takes a "
                 "share of its links from short flows (default 4)"},
                {"load", "SHARE",
                 "of the links between switches that short flows take, 0 to 0.99 (default 0.3)"},
                {"communication", "SHARE",
                 "of a job's time alone that its ring takes, 0.01 to 0.99 (default 0.5)"},
                {"slots", "N", "packets that an aggregating switch holds (default 4096)"},
                {"messages", "N", "short flows that are drawn, 0 to 100000 (default 4000)"},
                {"seed", "N", "of paths and of short flows (default 1)"},
                {"json", "", "one trainyard/shared-cluster@1 document and nothing else"},
                {"out", "FILE", "writes there instead of standard output"},
                {"quiet", "", "no diagnostics"}},
      .examples = {"network --messages 500", "network --jobs 4 --trees 2 --messages 500 --json",
                   "network --connections 1 --messages 500"},
      .run = run_network};
}

}  // namespace trainyard

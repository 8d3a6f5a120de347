// network: training jobs and short flows on one network, with reduction in rings or in the
// switches; or senders that meet in the buffer of one port.
#include <algorithm>
#include <string>

#include "app/cli/text/clusters/incast_text.h"
#include "app/cli/text/clusters/shared_cluster_text.h"
#include "app/cli/text/plans/scenario_words.h"
#include "app/cli/verb.h"
#include "core/base/error.h"
#include "core/base/units_text.h"
#include "core/network/incast.h"
#include "core/network/shared_cluster.h"

namespace trainyard {
namespace {

std::uint64_t seed_word(const Words& words, std::uint64_t usual) {
  return static_cast<std::uint64_t>(
      words.integer("seed", 0, 1'000'000'000, static_cast<std::int64_t>(usual)));
}

constexpr const char* kOfIncast[] = {"block",  "link",    "buffer",    "threshold",
                                     "window", "timeout", "round-trip"};
constexpr const char* kOfJobs[] = {"jobs", "leaves",        "spines", "trees",   "connections",
                                   "load", "communication", "slots",  "messages"};

template <std::size_t N>
void refuse_mixed(const Words& words, const char* const (&flags)[N], const char* sentence) {
  for (const char* flag : flags)
    if (words.has(flag))
      throw Error(Error::Kind::InvalidInput, sentence, {"--" + std::string(flag)});
}

int run_incast(const Words& words, Streams& streams) {
  constexpr std::int64_t kMostSenders = 4'096, kMostPackets = 1'000'000;
  IncastQuestion q;
  q.senders = words.integer("incast", 1, kMostSenders, q.senders);
  refuse_mixed(words, kOfJobs, "expected none beside --incast, in which there are no jobs");
  q.buffer = words.integer("buffer", 0, kMostPackets, q.buffer);
  q.threshold = words.integer("threshold", 0, kMostPackets, q.threshold);
  q.window = words.integer("window", 1, kMostPackets, q.window);
  if (words.has("block")) q.block = parse_bytes(words.text("block"), {"--block"});
  if (words.has("link")) q.link = parse_bandwidth(words.text("link"), {"--link"});
  if (words.has("timeout")) q.timeout = parse_duration(words.text("timeout"), {"--timeout"});
  if (words.has("round-trip"))
    q.round_trip = parse_duration(words.text("round-trip"), {"--round-trip"});
  q.seed = seed_word(words, q.seed);
  const IncastAnswer found = incast(q);
  deliver(words.has("json") ? incast_document(found) : incast_text(found), words, streams);
  return kDone;
}

int run_network(const Words& words, Streams& streams) {
  if (words.has("incast")) return run_incast(words, streams);
  refuse_mixed(words, kOfIncast, "expected --incast beside it, in which senders meet at one port");
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
  q.seed = seed_word(words, q.seed);
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
          "switches add up; or senders that meet at one port.",
      .flags =
          {{"jobs", "J", "training jobs, each with a worker below every leaf, 1 to 64 (default 8)"},
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
           {"incast", "N",
            "instead: N senders, 1 to 4096, answer one receiver at once through the buffer of "
            "its port, without control and with marks of congestion (DCTCP)"},
           {"block", "BYTES", "of each sender of --incast in an exchange (default 256kB)"},
           {"link", "RATE", "of --incast's senders and receiver (default 10Gb/s)"},
           {"buffer", "PACKETS", "of 1500 bytes that the port of --incast holds (default 256)"},
           {"threshold", "PACKETS", "in the queue of --incast, above which it marks (default 65)"},
           {"window", "PACKETS", "the most that a sender of --incast has under way (default 1024)"},
           {"timeout", "TIME",
            "the least that a sender of --incast waits for a lost window (default 200ms)"},
           {"round-trip", "TIME", "of --incast's empty network (default 100us)"},
           {"seed", "N", "of paths, of short flows and of what --incast loses (default 1)"},
           {"json", "",
            "one trainyard/shared-cluster@1 document and nothing else; with --incast one "
            "trainyard/incast@1"},
           {"out", "FILE", "writes there instead of standard output"},
           {"quiet", "", "no diagnostics"}},
      .examples = {"network --messages 500", "network --jobs 4 --trees 2 --messages 500 --json",
                   "network --connections 1 --messages 500", "network --incast 48",
                   "network --incast 48 --timeout 1ms --json"},
      .run = run_network};
}

}  // namespace trainyard

// network: training jobs and short flows on one network, with reduction in rings or in the
// switches; or senders that meet in the buffer of one port.
#include <fmt/format.h>

#include <string>

#include "app/cli/interrupt.h"
#include "app/cli/pictures/picture_files.h"
#include "app/cli/status_line.h"
#include "app/cli/text/clusters/incast_text.h"
#include "app/cli/text/clusters/shared_cluster_text.h"
#include "app/cli/text/plans/scenario_words.h"
#include "app/cli/verb.h"
#include "app/workspace/scenario/refuse_flag.h"
#include "app/workspace/scenario/shared_cluster_document.h"
#include "app/workspace/scenario/shared_cluster_question.h"
#include "core/base/error.h"
#include "core/base/units_text.h"
#include "core/network/incast.h"
#include "visualizers/network/shared_cluster_view.h"

namespace trainyard {
namespace {

constexpr const char* kOfIncast[] = {"block", "buffer", "threshold", "window", "timeout"};
constexpr const char* kOfJobs[] = {"jobs",          "leaves",  "spines",      "hosts", "gradients",
                                   "communication", "trees",   "connections", "slots", "packet",
                                   "load",          "message", "messages",    "model", "cluster",
                                   "plan",          "set",     "csv",         "svg",   "png"};

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
  q.seed = static_cast<std::uint64_t>(words.integer("seed", 0, 1'000'000'000, 1));
  const IncastAnswer found = incast(q);
  deliver(words.has("json") ? incast_document(found) : incast_text(found), words, streams);
  return kDone;
}

int run_network(const Words& words, Streams& streams) {
  if (words.has("incast")) return run_incast(words, streams);
  refuse_mixed(words, kOfIncast, "expected --incast beside it, in which senders meet at one port");
  theme_of(words);  // refused before anything is simulated
  SharedClusterAsked asked;
  for (const SharedClusterField& field : shared_cluster_fields())
    if (words.has(field.flag))
      with_place("--" + std::string(field.flag),
                 [&] { read_field(asked, field, words.text(field.flag)); });
  if (words.has("model") || words.has("cluster") || words.has("plan") || words.has("set"))
    asked.plan = {words.text("model"), words.text("cluster"), words.text("plan"),
                  words.texts("set")};
  const InterruptStop interrupt;
  asked.stop = interrupt.token();
  StatusLine status(words, streams);
  asked.progress = [&](double share) {
    if (status.is_due()) status.show(fmt::format("jobs and short flows {:3.0f} %", 100 * share));
  };
  const SharedClusterAnswer found = study_shared_cluster(asked);
  status.clear();
  write_table_and_picture(
      shared_cluster_table(found), [&] { return shared_cluster_picture(found); }, words, streams);
  deliver(words.has("json") ? shared_cluster_document(found) : shared_cluster_text(found), words,
          streams);
  return kDone;
}

}  // namespace

Verb network_verb() {
  std::vector<Flag> flags = {
      {"jobs", "J", "training jobs, each with a worker below every leaf, 1 to 64 (default 8)"},
      {"leaves", "L", "leaf switches, 2 to 64 (default 16)"},
      {"spines", "S", "spine switches, 1 to 64 (default 4)"},
      {"hosts", "N", "other hosts below a leaf, which send short flows, 1 to 64 (default 8)"},
      {"link", "RATE",
       "of every link and direction (default 10Gb/s, or that of a device's outermost links in "
       "--cluster)"},
      {"gradients", "BYTES",
       "of each worker of a job (default 1MB, or those of a rank of --model and --plan)"},
      {"communication", "SHARE",
       "of a job's time alone that its ring takes, 0.01 to 0.99 (default 0.5)"},
      {"trees", "K", "aggregation trees of a job, at most as many as spines (default 4)"},
      {"connections", "C",
       "between neighbours of a ring, each on a path that a hash chooses, 1 to 64; each takes a "
       "share of its links from short flows (default 4)"},
      {"slots", "N",
       "packets that an aggregating switch holds; what finds no slot goes around the ring "
       "(default 4096)"},
      {"packet", "BYTES", "that a slot holds (default 1024B)"},
      {"round-trip", "TIME",
       "after which a slot is free again (default 10us); of --incast's empty network (default "
       "100us)"},
      {"load", "SHARE",
       "of the links between switches that short flows take, 0 to 0.99 (default 0.3)"},
      {"message", "BYTES", "of a short flow (default 100kB)"},
      {"messages", "N", "short flows that are drawn, 0 to 100000 (default 4000)"},
      {"incast", "N",
       "instead: N senders, 1 to 4096, answer one receiver at once through the buffer of its "
       "port, without control and with marks of congestion (DCTCP); --link is theirs, too"},
      {"block", "BYTES", "of each sender of --incast in an exchange (default 256kB)"},
      {"buffer", "PACKETS", "of 1500 bytes that the port of --incast holds (default 256)"},
      {"threshold", "PACKETS", "in the queue of --incast, above which it marks (default 65)"},
      {"window", "PACKETS", "the most that a sender of --incast has under way (default 1024)"},
      {"timeout", "TIME",
       "the least that a sender of --incast waits for a lost window (default 200ms)"},
      {"seed", "N", "of paths, of short flows and of what --incast loses (default 1)"},
      {"json", "",
       "one trainyard/shared-cluster@1 document and nothing else; with --incast one "
       "trainyard/incast@1"}};
  for (const Flag& flag : table_and_picture_flags(
           "every way to reduce as a row",
           "draws the steps of jobs and the times of short flows, beside the text"))
    flags.push_back(flag);
  return {.name = "network",
          .summary =
              "Jobs that share a network with short flows, when they reduce in rings and when the "
              "switches add up; or senders that meet at one port.",
          .flags = with_scenario_flags(std::move(flags)),
          .examples = {"network --messages 500", "network --jobs 4 --trees 2 --messages 500 --json",
                       "network --model gpt2 --cluster h100-sxm:16 --set dp=16 --messages 500",
                       "network --slots 32 --messages 500", "network --incast 48",
                       "network --incast 48 --timeout 1ms --json"},
          .run = run_network};
}

}  // namespace trainyard

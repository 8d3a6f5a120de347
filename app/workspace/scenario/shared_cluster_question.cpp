#include "app/workspace/scenario/shared_cluster_question.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "app/workspace/scenario/refuse_flag.h"
#include "app/workspace/scenario/setting_words.h"
#include "app/workspace/scenario/workspace.h"
#include "core/base/error.h"
#include "core/base/number_text.h"
#include "core/base/units_text.h"
#include "core/lowering/lower.h"

namespace trainyard {
namespace {

using Q = SharedClusterQuestion;

[[noreturn]] void refuse_range(const std::string& range, const std::string& typed) {
  refuse(fmt::format("expected {}, found \"{}\"", range, typed.substr(0, 40)));
}

void read_whole(std::int64_t& into, const std::string& typed, std::int64_t low, std::int64_t high) {
  const auto read = number_of<std::int64_t>(typed);
  if (!read || *read < low || *read > high)
    refuse_range(fmt::format("a whole number from {} to {}", low, high), typed);
  into = *read;
}

void read_share(double& into, const std::string& typed, double low) {
  constexpr double kMost = 0.99;
  const auto read = number_of<double>(typed);
  if (!read || !(*read >= low && *read <= kMost))
    refuse_range(fmt::format("a number from {} to {}", to_text(low), to_text(kMost)), typed);
  into = *read;
}

// Bytes, rates and times with their units.
template <class Quantity>
void read_quantity(Quantity& into, const std::string& typed,
                   Quantity (*parse)(std::string_view, const Place&), std::string_view low,
                   std::string_view high) {
  const Quantity read = parse(typed, {});
  if (read < parse(low, {}) || parse(high, {}) < read)
    refuse_range(fmt::format("{} to {}", low, high), typed);
  into = read;
}

template <std::int64_t Q::* Member>
std::string whole_of(const Q& q) {
  return std::to_string(q.*Member);
}
template <auto Member>
std::string text_of(const Q& q) {
  return to_text(q.*Member);
}

// The gradients of a rank of the stage that has most.
Bytes gradients_of(const Workload& w) {
  std::int64_t most = 0;
  for (const std::vector<Workload::Run>& stage : w.runs) {
    std::int64_t parameters = 0;
    for (const Workload::Run& run : stage) {
      const LocalParameters& p = w.bodies[static_cast<std::size_t>(run.body)].parameters;
      parameters += (p.dense + p.expert) * run.count;
    }
    most = std::max(most, parameters);
  }
  return gradient_bytes(most, w.layout);
}

}  // namespace

const std::vector<SharedClusterField>& shared_cluster_fields() {
  static const std::vector<SharedClusterField> all = {
      {"jobs", "Jobs", "Each has a worker below every leaf.", whole_of<&Q::jobs>,
       [](Q& q, const std::string& t) { read_whole(q.jobs, t, 1, 64); }},
      {"leaves", "Leaf switches", "", whole_of<&Q::leaves>,
       [](Q& q, const std::string& t) { read_whole(q.leaves, t, 2, 64); }},
      {"spines", "Spine switches", "", whole_of<&Q::spines>,
       [](Q& q, const std::string& t) { read_whole(q.spines, t, 1, 64); }},
      {"hosts", "Other hosts below a leaf", "They send the short flows.", whole_of<&Q::hosts>,
       [](Q& q, const std::string& t) { read_whole(q.hosts, t, 1, 64); }},
      {"link", "Rate of a link", "Of every link and direction.", text_of<&Q::link>,
       [](Q& q, const std::string& t) {
         read_quantity(q.link, t, parse_bandwidth, "1MB/s", "10TB/s");
       }},
      {"gradients", "Gradients of a job", "Of each worker, which an all-reduce adds up.",
       text_of<&Q::gradients>,
       [](Q& q, const std::string& t) {
         read_quantity(q.gradients, t, parse_bytes, "1kB", "100TB");
       }},
      {"communication", "Share of reducing",
       "Of the time of a job that has the network to itself and reduces in a ring.",
       text_of<&Q::communication>,
       [](Q& q, const std::string& t) { read_share(q.communication, t, 0.01); }},
      {"trees", "Trees of a job", "At most as many as spines.", whole_of<&Q::trees>,
       [](Q& q, const std::string& t) { read_whole(q.trees, t, 1, 64); }},
      {"connections", "Connections of a ring",
       "Between two neighbours. Each is on a path that a hash chooses, and takes a share of its "
       "links from short flows.",
       whole_of<&Q::connections>,
       [](Q& q, const std::string& t) { read_whole(q.connections, t, 1, 64); }},
      {"slots", "Slots of a switch",
       "Packets that an aggregating switch holds. What finds no slot goes around the ring.",
       whole_of<&Q::slots>,
       [](Q& q, const std::string& t) { read_whole(q.slots, t, 1, 1'000'000'000); }},
      {"packet", "A packet", "", text_of<&Q::packet>,
       [](Q& q, const std::string& t) { read_quantity(q.packet, t, parse_bytes, "64B", "64kB"); }},
      {"round-trip", "Round trip", "After which the slot of a packet is free again.",
       text_of<&Q::round_trip>,
       [](Q& q, const std::string& t) {
         read_quantity(q.round_trip, t, parse_duration, "100ns", "1s");
       }},
      {"load", "Load of short flows", "The share of the links between switches that they take.",
       text_of<&Q::load>, [](Q& q, const std::string& t) { read_share(q.load, t, 0); }},
      {"message", "A short flow", "", text_of<&Q::message>,
       [](Q& q, const std::string& t) { read_quantity(q.message, t, parse_bytes, "1kB", "1TB"); }},
      {"messages", "Short flows", "So many are drawn.", whole_of<&Q::messages>,
       [](Q& q, const std::string& t) { read_whole(q.messages, t, 0, 100'000); }},
      {"seed", "Seed", "Draws paths and short flows.",
       [](const Q& q) { return std::to_string(q.seed); },
       [](Q& q, const std::string& t) {
         std::int64_t seed = 0;
         read_whole(seed, t, 0, 1'000'000'000);
         q.seed = static_cast<std::uint64_t>(seed);
       }},
  };
  return all;
}

void read_field(SharedClusterAsked& asked, const SharedClusterField& field,
                const std::string& typed) {
  field.read(asked.question, typed);
  asked.given.insert(field.flag);
}

SharedClusterAnswer study_shared_cluster(const SharedClusterAsked& asked) {
  Q q = asked.question;
  if (asked.plan) {
    const Scenario scenario = open(*asked.plan);
    throw_if_errors(check(scenario));
    if (!asked.given.contains("gradients")) q.gradients = gradients_of(prepare(scenario));
    if (q.gradients.value <= 0)
      refuse("the plan trains no weights, so that its jobs reduce nothing");
    if (!asked.given.contains("link")) q.link = scenario.cluster.levels.back().bandwidth.value;
  }
  if (!asked.given.contains("trees")) q.trees = std::min(q.trees, q.spines);
  if (q.trees > q.spines)
    refuse_flag("trees", fmt::format("expected a whole number from 1 to {}, found \"{}\"", q.spines,
                                     q.trees));
  return shared_cluster(q, asked.stop, asked.progress);
}

std::string shared_cluster_command(const SharedClusterAsked& asked) {
  std::string command = "trainyard network";
  if (asked.plan) command += scenario_flags(*asked.plan);
  for (const SharedClusterField& field : shared_cluster_fields())
    if (asked.given.contains(field.flag))
      command += fmt::format(" --{} {}", field.flag, field.write(asked.question));
  return command;
}

}  // namespace trainyard

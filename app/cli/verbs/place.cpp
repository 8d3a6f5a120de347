// place: jobs that arrive over time, on nodes that they share, by policies that see the present and
// by hindsight.
#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "app/cli/interrupt.h"
#include "app/cli/pictures/picture_files.h"
#include "app/cli/text/plans/placement_text.h"
#include "app/cli/text/plans/scenario_words.h"
#include "app/workspace/plans/placement_chart.h"
#include "app/workspace/plans/planned_job.h"
#include "app/workspace/scenario/refuse_flag.h"

namespace trainyard {
namespace {

// "MODEL CLUSTER KEY=VALUE..." as a kind of job.
JobKind kind_of_words(const std::string& typed, double hours, Streams& streams) {
  std::istringstream parts(typed);
  Words named;
  std::string model, cluster, setting;
  if (!(parts >> model >> cluster))
    refuse_flag("job", fmt::format("expected a model, a cluster and settings, as \"llama-3-8b "
                                   "h100-sxm:8 tp=8 global-batch=8\", found \"{}\"",
                                   typed));
  named.add("model", model), named.add("cluster", cluster);
  while (parts >> setting) named.add("set", setting);
  named.add("quiet", "");
  try {
    return planned_job(open_scenario(named, streams), seconds(3600 * hours));
  } catch (const Error& error) {
    // A flag of the inner words was not typed; a place in a file is kept.
    if (!error.place().text.starts_with("--")) throw;
    refuse_flag("job", error.what());
  }
}

// A field of the question is a flag here.
PlacementStudy placed(const PlacementQuestion& question, const std::stop_token& stop) {
  try {
    return placement_study(question, stop);
  } catch (const Error& error) {
    if (error.kind() != Error::Kind::InvalidInput) throw;
    refuse_flag(error.place().text, error.what());
  }
}

int run_place(const Words& words, Streams& streams) {
  theme_of(words);  // refused before anything is learned
  PlacementQuestion q;
  TraceQuestion& traces = q.traces;
  traces.nodes.count = static_cast<int>(words.integer("nodes", 1, 64, traces.nodes.count));
  traces.nodes.devices = words.integer("devices", 1, 1024, traces.nodes.devices);
  traces.nodes.bytes = static_cast<std::int64_t>(words.number("memory", 1, 1e6, 640) * 1e9);
  traces.jobs = static_cast<int>(words.integer("jobs", 2, 2000, traces.jobs));
  traces.load = words.number("load", 0.01, 10, 0.3);
  traces.seed = static_cast<std::uint64_t>(words.integer("seed", 0, 1'000'000'000, 1));
  q.patience = seconds(60 * words.number("patience", 0, 1e6, 240));
  q.training = static_cast<int>(words.integer("training", 1, 1000, q.training));
  q.held_out = static_cast<int>(words.integer("traces", 1, 1000, q.held_out));
  const double hours = words.number("hours", 0.001, 10'000, 2);
  if (words.has("hours") && !words.has("job"))
    refuse_flag("hours", "expected a job beside it, whose median duration it is, found none");
  for (const std::string& typed : words.texts("job"))
    traces.kinds.push_back(kind_of_words(typed, hours, streams));
  if (traces.kinds.empty()) traces.kinds = stated_kinds();
  const InterruptStop interrupt;
  const PlacementStudy study = placed(q, interrupt.token());
  write_table_and_picture(
      placement_table(study), [&] { return occupancy_picture(occupancy_model(study)); }, words,
      streams);
  deliver(words.has("json") ? placement_document(study) : placement_text(study), words, streams);
  return kDone;
}

}  // namespace

Verb place_verb() {
  std::vector<Flag> flags = {
      {"nodes", "N", "nodes, 1 to 64 (default 8)"},
      {"devices", "N", "devices of a node, which its jobs share in time (default 8)"},
      {"memory", "GB", "of all devices of a node together (default 640)"},
      {"jobs", "N", "jobs of a trace, 2 to 2000 (default 200)"},
      {"load", "SHARE", "of all devices that jobs ask for in the mean (default 0.3)"},
      {"patience", "MINUTES", "that a job waits before it is rejected (default 240)"},
      {"job", "WORDS",
       "a kind of job instead of the stated ones: \"MODEL CLUSTER KEY=VALUE...\", simulated for "
       "its devices and its memory over a step",
       true},
      {"hours", "H", "median duration of such jobs (default 2)"},
      {"training", "N", "traces that imitations learn from (default 40)"},
      {"traces", "N", "held-out traces that policies are compared on (default 64)"},
      {"seed", "N", "of the traces (default 1)"},
      {"json", "", "one trainyard/placement@1 document and nothing else"},
      {"out", "FILE", "writes there instead of standard output"},
      {"quiet", "", "no diagnostics"}};
  for (const Flag& flag :
       table_and_picture_flags("every policy as a row",
                               "draws the nodes of one trace over time and the peaks there, beside "
                               "the text"))
    flags.push_back(flag);
  return {.name = "place",
          .summary =
              "Places jobs that arrive over time on shared nodes: fits, least loaded, "
              "complementary waves, an imitation of hindsight, and hindsight.",
          .flags = std::move(flags),
          .examples = {"place --jobs 60 --training 3 --traces 6",
                       "place --jobs 40 --training 2 --traces 4 --job \"gpt3-xl h100-sxm:2 dp=2 "
                       "global-batch=8 micro-batch=4\" --job \"gpt3-xl h100-sxm:1 "
                       "global-batch=2 micro-batch=1\" --json"},
          .run = run_place};
}

}  // namespace trainyard

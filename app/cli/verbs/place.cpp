// place: jobs that arrive over time, on nodes that they share, by policies that see the present and
// by hindsight.
#include <fmt/format.h>

#include "app/cli/interrupt.h"
#include "app/cli/pictures/picture_files.h"
#include "app/cli/status_line.h"
#include "app/cli/text/plans/placement_text.h"
#include "app/cli/text/plans/scenario_words.h"
#include "app/workspace/plans/placement_chart.h"
#include "app/workspace/plans/placement_document.h"
#include "app/workspace/plans/placement_question.h"
#include "app/workspace/scenario/refuse_flag.h"

namespace trainyard {
namespace {

int run_place(const Words& words, Streams& streams) {
  theme_of(words);  // refused before anything is learned
  PlacementAsked asked;
  PlacementQuestion& q = asked.question;
  TraceQuestion& traces = q.traces;
  traces.nodes.count =
      static_cast<int>(words.integer("nodes", 1, kMostPlacedNodes, traces.nodes.count));
  traces.nodes.devices = words.integer("devices", 1, kMostNodeDevices, traces.nodes.devices);
  set_gigabytes(traces.nodes,
                words.number("memory", 1, kMostNodeGigabytes, gigabytes_of(traces.nodes)));
  traces.jobs = static_cast<int>(words.integer("jobs", 2, kMostTraceJobs, traces.jobs));
  traces.load = words.number("load", kLeastLoad, kMostLoad, traces.load);
  traces.seed = static_cast<std::uint64_t>(words.integer("seed", 0, kMostTraceSeed, 1));
  q.patience =
      seconds(60 * words.number("patience", 0, kMostPatienceMinutes, to_seconds(q.patience) / 60));
  q.training = static_cast<int>(words.integer("training", 1, kMostTraces, q.training));
  q.held_out = static_cast<int>(words.integer("traces", 1, kMostTraces, q.held_out));
  asked.hours = words.number("hours", kLeastJobHours, kMostJobHours, asked.hours);
  if (words.has("hours") && !words.has("job"))
    refuse_flag("hours", "expected a job beside it, whose median duration it is, found none");
  asked.jobs = words.texts("job");
  const InterruptStop interrupt;
  asked.stop = interrupt.token();
  StatusLine status(words, streams);
  asked.progress = [&](double share) {
    if (status.is_due()) status.show(fmt::format("placing {:3.0f} %", 100 * share));
  };
  const PlacementStudy study = study_placement(asked);
  status.clear();
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

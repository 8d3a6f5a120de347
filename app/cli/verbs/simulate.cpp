// estimate and simulate: the answer to "will it fit, how fast is it, and why".
#include <optional>
#include <ostream>

#include "app/cli/text/clusters/network_text.h"
#include "app/cli/text/operation_energy_text.h"
#include "app/cli/text/plans/scenario_words.h"
#include "app/cli/text/result_text.h"
#include "app/workspace/scenario/network_step.h"
#include "app/workspace/scenario/workspace.h"
#include "core/base/error.h"
#include "core/exporters/trace_event.h"
#include "core/io/bytes/file_writer.h"
#include "core/io/bytes/files.h"
#include "core/io/documents/result_json.h"
#include "core/lowering/lower.h"
#include "core/program/program_text.h"
#include "visualizers/drawing/svg.h"
#include "visualizers/network/network_view.h"
#include "visualizers/view.h"
#include "visualizers/view_data.h"

namespace trainyard {
namespace {

std::vector<Flag> answer_flags(std::vector<Flag> own) {
  own.insert(own.begin(), order_flag());
  own.push_back(calibration_flag());
  own.push_back(cost_flag());
  own.push_back({"energy", "",
                 "the energy of arithmetic and of each memory level too, by operation, at 45 nm"});
  own.push_back({"json", "", "one trainyard/result@1 document and nothing else"});
  own.push_back(
      {"seed", "N",
       "draws which devices of a cluster with slow= or jitter= are slow in simulate, and where its "
       "--tenants send; nothing else"});
  own.push_back({"strict", "", "exit 4 when the answer lies outside the range of measured runs"});
  return with_scenario_flags(std::move(own));
}

int answer(const Result& result, const Words& words, Streams& streams,
           const std::string& more = "") {
  words.integer("seed", 0, INT64_MAX, 1);
  deliver(words.has("json") ? result_document(result)
                            : result_text(result) + more + operation_energy_text(result),
          words, streams);
  if (words.has("strict") && (!result.evidence || result.evidence->outside)) {
    streams.err << (result.evidence ? result.evidence->sentence : "nothing was held against rows")
                << "\n";
    return kOutside;
  }
  return result.verdict.fits ? kDone : kNotMet;
}

bool micro_batch_given(const Words& words) {
  return gives_micro_batch({"", "", words.text("plan"), words.texts("set")});
}

int run_estimate(const Words& words, Streams& streams) {
  Scenario scenario = open_scenario(words, streams);
  const std::unique_ptr<CostModel> costs = open_costs(words, scenario);
  Result result = estimate(scenario, costs.get(), micro_batch_given(words));
  if (words.has("energy")) result.operations = operation_energies(prepare(scenario));
  return answer(result, words, streams);
}

// Empty where every transfer has its links to itself.
std::optional<NetworkOptions> network_words(const Words& words) {
  constexpr double kMostTenants = 0.99;
  constexpr std::int64_t kMostSlots = 1'000'000'000, kMostTrees = 64;
  NetworkOptions options;
  const bool flows = words.choice("network", {"alone", "flows"}, "alone") == "flows";
  const bool hashed = words.choice("routing", {"spread", "hashed"}, "spread") == "hashed";
  options.routing = hashed ? NetworkRouting::Hashed : NetworkRouting::Spread;
  options.tenants = words.number("tenants", 0, kMostTenants, 0);
  options.seed = static_cast<std::uint64_t>(words.integer("seed", 0, INT64_MAX, 1));
  options.slots = words.integer("slots", 0, kMostSlots, options.slots);
  options.trees = words.integer("trees", 1, kMostTrees, options.trees);
  if (words.has("network-out") || words.has("network-svg")) options.bins = kNetworkBins;
  for (const char* flag : {"routing", "tenants", "slots", "trees", "network-out", "network-svg"})
    if (!flows && words.has(flag))
      throw Error(Error::Kind::InvalidInput,
                  "expected --network flows beside it, in which transfers share links",
                  {"--" + std::string(flag)});
  return flows ? std::optional(options) : std::nullopt;
}

int run_simulate(const Words& words, Streams& streams) {
  words.choice("grain", {"order", "op"}, "order");  // refused before anything is read
  const std::optional<NetworkOptions> network = network_words(words);
  for (const char* flag : {"grain", "order"})
    if (words.has("program") && words.has(flag))
      throw Error(Error::Kind::InvalidInput,
                  "expected no --program beside it, which says this itself",
                  {"--" + std::string(flag)});
  Scenario scenario = open_scenario(words, streams);
  if (network) expect_switches_that_add_up(scenario.cluster, *network);
  if (words.has("seed") && has_slow_devices(scenario.cluster.slowness))
    scenario.cluster.slowness.seed =
        static_cast<std::uint64_t>(words.integer("seed", 0, INT64_MAX, 1));
  const std::shared_ptr<const CostModel> costs = open_costs(words, scenario);
  std::optional<Program> edited;
  if (words.has("program"))
    edited = parse_valid_program(read_file(words.text("program")), {words.text("program")});
  ExperimentPtr experiment =
      simulate(scenario, {.grain = edited ? Grain::Order : grain_word(words, scenario),
                          .program = edited ? &*edited : nullptr,
                          .cost = costs.get(),
                          .micro_batch_given = micro_batch_given(words)});
  std::string shared_links;
  if (network) {
    const NetworkStep step = over_network(*experiment, *network, costs.get());
    experiment = step.experiment;
    shared_links = network_text(step.use);
    if (words.has("network-out")) write_file(words.text("network-out"), network_document(step.use));
    if (words.has("network-svg"))
      write_file(words.text("network-svg"), to_svg(network_picture(step.use), Theme::Light));
  }
  if (words.has("program-out")) write_file(words.text("program-out"), to_text(experiment->program));
  if (words.has("trace")) write_file(words.text("trace"), trace_event(*experiment));
  if (words.has("svg")) {
    const View& timeline = view("timeline");
    const ViewData data(experiment, costs ? costs : cost_model(scenario));
    write_file(words.text("svg"), to_svg(timeline.draw(data, timeline.size, {}), Theme::Light));
  }
  Result result = experiment->result;
  if (words.has("energy")) result.operations = operation_energies(experiment->workload);
  return answer(result, words, streams, shared_links);
}

}  // namespace

Verb estimate_verb() {
  return {
      .name = "estimate",
      .summary = "Verdict, step time and memory by closed form, without laying out a schedule.",
      .flags = answer_flags({}),
      .examples =
          {"estimate --model llama-3-8b --cluster h100-sxm:64 --set tp=2 --set global-batch=128",
           "estimate --model gpt2 --cluster h100-sxm:8,region=sweden,pue=1.1 --energy"},
      .run = run_estimate};
}

Verb simulate_verb() {
  return {
      .name = "simulate",
      .summary =
          "Lowers and simulates one step: verdict with fixes, step time, utilisation, memory.",
      .flags = answer_flags(
          {grain_flag(),
           {"network", "flows|alone",
            "flows: transfers share the links of the cluster's network max-min fairly; alone: each "
            "is priced by itself (default alone)"},
           {"routing", "spread|hashed",
            "of flows over equally short paths: in equal parts, or each on one that a hash chooses "
            "(ECMP; default spread)"},
           {"tenants", "SHARE",
            "what other jobs send from every device to another node, as a share of its port, 0 to "
            "0.99 (default 0)"},
           {"slots", "N",
            "packets of 1 kB that a switch between nodes holds to add them up, each for a round "
            "trip of 10 us, where the cluster's switches do; what finds no slot goes around the "
            "ring (default: endlessly many)"},
           {"trees", "K",
            "trees of switches of such a sum, each on paths that a hash chooses with --routing "
            "hashed, 1 to 64 (default 1)"},
           {"network-out", "FILE",
            "writes the load of links and who waits for whom as a trainyard/network@1 document "
            "too"},
           {"network-svg", "FILE",
            "writes the load of links over the step and who waits for whom as a picture too"},
           {"program", "FILE",
            "simulates this program instead of the plan's own, at the plan's prices: what "
            "--program-out wrote, edited"},
           {"program-out", "FILE", "writes the program that was simulated as text too"},
           {"trace", "FILE", "writes the timeline for ui.perfetto.dev and chrome://tracing too"},
           {"svg", "FILE", "writes the timeline as a picture too"}}),
      .examples =
          {"simulate --model llama-3-70b --cluster h100-sxm:1024 --set tp=8 --set pp=4 "
           "--set global-batch=1024 --set seq=8192",
           "simulate --model llama-3-8b --cluster h100-sxm:8 --set tp=8 --grain op --json",
           "simulate --model llama-3-8b --cluster h100-sxm:64,oversubscription=4 --set tp=8 "
           "--set pp=2 --set global-batch=64 --network flows",
           "simulate --model gpt-tiny --cluster cpu:2 --set pp=2 --set global-batch=8 "
           "--program-out program.txt"},
      .run = run_simulate};
}

}  // namespace trainyard

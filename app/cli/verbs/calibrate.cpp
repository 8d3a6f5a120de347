// calibrate: measures this machine with the kernels that models use.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ostream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "app/cli/status_line.h"
#include "app/cli/text/plans/scenario_words.h"
#include "app/cli/together.h"
#include "app/cli/verbs/calibrate_files.h"
#include "app/workspace/runs/machine_calibration.h"
#include "app/workspace/scenario/local_cluster.h"
#include "app/workspace/scenario/refuse_flag.h"
#include "app/workspace/scenario/workspace.h"
#include "backends/cpu/calibration/calibrate.h"
#include "backends/cpu/calibration/exchange_times.h"
#include "backends/launch.h"
#include "core/base/units_text.h"
#include "core/cost/kernels/variant_ranking.h"
#include "core/io/bytes/file_writer.h"
#include "core/io/bytes/files.h"
#include "core/io/documents/calibration_json.h"
#include "core/io/documents/profile_json.h"
#include "core/model/ops.h"
#include "core/validation/calibrate_rows.h"
#include "core/validation/kernel_order.h"

namespace trainyard {
namespace {

std::vector<Workload> workloads_of(const Words& words, Streams& streams) {
  if (words.has("networks")) {
    for (const char* flag : {"model", "cluster", "plan", "set"})
      if (words.has(flag))
        refuse_flag(flag, "expected none beside --networks, which draws its own");
    return random_workloads(static_cast<int>(words.integer("networks", 1, 10'000, 1)), 1);
  }
  if (!words.has("model")) {
    for (const char* flag : {"cluster", "plan", "set"})
      if (words.has(flag))
        throw Error(Error::Kind::InvalidInput,
                    "expected --model beside it: without one the models of the zoo are measured",
                    {"--" + std::string(flag)});
    return standard_workloads();
  }
  Words with_cluster = words;
  if (!words.has("cluster"))
    with_cluster.add("cluster", local_cluster(words.integer("devices", 1, 256, 1), {}).name);
  const Scenario scenario = open_scenario(with_cluster, streams);
  expect_local(scenario);
  std::vector<Workload> list;
  list.push_back(prepare(scenario));
  return list;
}

std::string kernel_words(const Work& work) {
  return work.kernel < 0 ? "optimizer" : kernel_name(work.kernel);
}

// Sets the exchanges that no price was made of beside the prices of them.
std::string held_back_text(const Calibration& c) {
  if (c.held_back.empty()) return "";
  const auto model = calibrated_cost_model(c);
  std::string out = fmt::format("\n  {:<16} {:>5} {:>10} {:>10} {:>12} {:>8}\n", "held back",
                                "ranks", "bytes", "time", "priced", "off by");
  std::vector<double> errors;
  for (const ExchangeTiming& t : c.held_back) {
    const Duration price = exchange_price(*model, t, local_cluster(t.ranks, {}));
    errors.push_back(std::abs(to_seconds(price) / to_seconds(t.time) - 1));
    out +=
        fmt::format("  {:<16} {:>5} {:>10} {:>10} {:>12} {:>6.1f} %\n", exchange_words(t), t.ranks,
                    readable(t.bytes), readable(t.time), readable(price), 100 * errors.back());
  }
  std::sort(errors.begin(), errors.end());
  const auto within = std::upper_bound(errors.begin(), errors.end(), 0.3) - errors.begin();
  return out + fmt::format(
                   "exchanges     {} held back from their prices were off by {:.1f} % "
                   "(median), {:.1f} % at worst; {} within 30 %\n",
                   errors.size(), 100 * errors[(errors.size() - 1) / 2], 100 * errors.back(),
                   within);
}

// Says how far each kind of price is from shapes that it did not see.
std::string other_shapes_text(const Calibration& c) {
  const KernelResiduals found = machine_residuals(c);
  std::vector<std::string> off;
  const auto add = [&](const char* by, const ResidualShares& shares) {
    if (shares.points > 0)
      off.push_back(
          fmt::format("{} {:.1f} and {:.1f} %", by, 100 * shares.median, 100 * shares.p90));
  };
  add("roofline", found.before);
  add("calibrated", found.held_out);
  add("learned", found.learned_held_out);
  std::string text =
      fmt::format("other shapes  off by (median and 90th percentile) {}\n", fmt::join(off, ", "));
  const KernelOrder order = kernel_order(c, found);
  if (order.flops && order.formula && order.learned)
    text += fmt::format(
        "their order   agrees with the measured one (Spearman) by FLOPs alone "
        "{:.3f}, roofline {:.3f}, learned {:.3f}\n",
        *order.flops, *order.formula, *order.learned);
  return text;
}

// Lists the shapes at which the usual way loses most time, and how well a way is chosen for others.
std::string variants_text(const Calibration& c) {
  if (c.variants.empty()) return "";
  const auto ranking = rank_variants(c.variants);
  std::string out = fmt::format(
      "\nways          a run takes the fastest of {} shapes, and of others "
      "the one that trees rank first\n",
      c.variants.size());
  for (const HeldOutVariants& found : ranking->held_out())
    out += fmt::format("  {}\n", held_out_words(found));
  std::vector<const VariantTiming*> list;
  for (const VariantTiming& t : c.variants)
    if (chosen_variant(t) != t.usual) list.push_back(&t);
  std::stable_sort(list.begin(), list.end(), [](const VariantTiming* a, const VariantTiming* b) {
    return a->usual_loses() > b->usual_loses();
  });
  if (list.size() > 12) list.resize(12);
  if (!list.empty())
    out += fmt::format("\n  {:<12} {:<54} {:<10} {:>9}   {:<10} {:>9}\n", "kernel", "shape",
                       "usual", "time", "chosen", "time");
  for (const VariantTiming* t : list) {
    const auto names = variant_names(t->shape.kernel);
    const auto of = [&](int v) { return static_cast<std::size_t>(v); };
    out += fmt::format("  {:<12} {:<54} {:<10} {:>9}   {:<10} {:>9}\n", to_string(t->shape.kernel),
                       shape_words(t->shape), names[of(t->usual)], readable(t->times[of(t->usual)]),
                       names[of(t->best())], readable(t->times[of(t->best())]));
  }
  return out;
}

// Lists the kernels that take most of the time, and how certain their times are.
std::string text(const Calibration& c) {
  std::string out = fmt::format("{}\n\ncopy          {} and {}\nreduce        {}\n", c.machine,
                                readable(c.copy.start), readable(c.copy.rate), readable(c.reduce));
  out += fmt::format(
      "kernels       {} by shape and what runs before; steps held back were off by {:.1f} % "
      "(median), "
      "{:.1f} % at worst\n",
      c.kernels.size(), 100 * c.residual_median, 100 * c.residual_worst);
  out += other_shapes_text(c) + "\n";
  std::vector<const KernelTiming*> list;
  for (const KernelTiming& timing : c.kernels) list.push_back(&timing);
  std::stable_sort(list.begin(), list.end(),
                   [](const KernelTiming* a, const KernelTiming* b) { return a->time > b->time; });
  if (list.size() > 24) list.resize(24);
  out += fmt::format("  {:<28} {:>22} {:>10} {:>9} {:>14} {:>12}\n", "kernel", "shape", "time",
                     "spread", "arithmetic", "traffic");
  for (const KernelTiming* t : list) {
    const Work& w = t->work;
    const double seconds = to_seconds(t->time);
    const std::string shape =
        w.k > 0 ? fmt::format("{}{} x {} x {}", w.count > 1 ? fmt::format("{} of ", w.count) : "",
                              w.m, w.n, w.k)
                : "";
    out += fmt::format(
        "  {:<28} {:>22} {:>10} {:>7.1f} % {:>14} {:>12}\n", kernel_words(w), shape,
        readable(t->time), 100 * t->spread, readable(FlopsPerSecond{w.flops.value / seconds}),
        readable(BytesPerSecond{static_cast<double>((w.read + w.written).value) / seconds}));
  }
  if (list.size() < c.kernels.size())
    out += fmt::format("  and {} that take less\n", c.kernels.size() - list.size());
  out += variants_text(c);
  out += exchanges_text(c.exchanges);
  out += held_back_text(c);
  for (const std::string& note : c.notes) out += "\n" + note + "\n";
  return out;
}

// Lists the parameters that the rows moved, the furthest first.
std::string text(const ParameterProfile& profile) {
  std::string out = fmt::format(
      "{}\n\n              median    p90  worst\nas shipped   {:>6.1f} % {:>4.1f} % {:>4.1f} %\n"
      "fitted       {:>6.1f} % {:>4.1f} % {:>4.1f} %\n\n",
      profile.rows, 100 * profile.before.median, 100 * profile.before.p90,
      100 * profile.before.worst, 100 * profile.after.median, 100 * profile.after.p90,
      100 * profile.after.worst);
  if (profile.steps)
    out += fmt::format("all times     {:.4g} times as long; bands {:.0f} % as wide\n",
                       profile.steps->factor, 100 * profile.steps->narrowing);
  else
    out += fmt::format("  {:<28}{:>10}{:>10}  {:<9}{}\n", "parameter", "shipped", "fitted", "unit",
                       "uncertainty left");
  for (const ParameterInfo* row : moved_parameters(profile))
    out +=
        fmt::format("  {:<28}{:>10.4g}{:>10.4g}  {:<9}{:.0f} %\n", row->name,
                    profile.shipped[row->parameter], profile.parameters[row->parameter], row->unit,
                    100 * profile.determined[static_cast<std::size_t>(row->parameter)]);
  for (const std::string& note : profile.notes) out += note + "\n";
  return out;
}

int calibrate_rows(const Words& words, Streams& streams) {
  for (const char* flag : {"model", "cluster", "plan", "set", "devices", "seconds", "networks"})
    if (words.has(flag))
      throw Error(Error::Kind::InvalidInput, "expected without --rows: rows say what was run",
                  {"--" + std::string(flag)});
  const std::string path = words.text("rows");
  Diagnostics warnings;
  const RowSet set = prepare_rows(read_rows(read_file(path), path, &warnings));
  if (!words.has("quiet")) {
    for (const Diagnostic& d : warnings) streams.err << d.place.text << ": " << d.message << "\n";
    for (const SkippedRow& row : set.skipped)
      streams.err << "skipped " << row.row.id << ": " << row.reason << "\n";
  }
  const ParameterProfile profile = calibrate_to_rows(set, path, 2);
  const std::string document = write_profile(profile);
  if (words.has("out")) write_file(words.text("out"), document);
  streams.out << (words.has("json") ? document : text(profile));
  if (words.has("out") && !words.has("quiet")) streams.err << "wrote " << words.text("out") << "\n";
  return kDone;
}

// Kernels are timed by what their own process has of a core. Where processes are more than cores,
// they wait for each other, and each has its share.
void share_cores(Calibration& c, int processes) {
  const int cores = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  if (processes <= cores) return;
  const double share = static_cast<double>(processes) / cores;
  const auto stretch = [&](Duration& time) { time = seconds(share * to_seconds(time)); };
  for (KernelTiming& timing : c.kernels) stretch(timing.time);
  stretch(c.overhead);
  c.notes.push_back(
      fmt::format("{} processes share {} cores, so that kernels are taken to last "
                  "{:.3g} times as long as alone",
                  processes, cores, share));
}

// Kernels are measured on all ranks at once, as they run in a run over them, and the first rank's
// count; exchanges are measured by all together.
Calibration calibrate_here(const Words& words, Processes* processes, Streams& streams) {
  const double box = words.number("seconds", 0.1, 86400, 10);
  const std::vector<Workload> workloads = workloads_of(words, streams);
  if (processes != nullptr) processes->wait(*processes->barrier());
  StatusLine line(words, streams);
  Calibration c =
      calibrate(workloads, {.box = seconds(box), .progress = [&](double share) {
                              line.show(fmt::format("measuring {:3.0f} %", 100 * share));
                            }});
  line.clear();
  if (processes == nullptr) return c;
  MeasuredExchanges measured = measure_exchanges(*processes);
  c.exchanges = std::move(measured.known), c.held_back = std::move(measured.held_back);
  share_cores(c, processes->on_this_machine());
  c.machine += fmt::format(", over {} processes", processes->count());
  return c;
}

// A verb of files, or one that is started by hand, is the work of one process.
int run_calibrate(const Words& words, Streams& streams) {
  const Launch started = launch();
  const bool reads = asks_for_calibrate_files(words) || words.has("rows");
  if (words.has("mpi") && (reads || started.count == 1))
    throw Error(Error::Kind::InvalidInput,
                reads ? "expected it to measure, and not beside files that were measured elsewhere"
                      : "expected several processes, found one: \"mpirun -n 4 trainyard calibrate "
                        "--mpi\" starts four",
                {"--mpi"});
  if (reads) {
    if (started.rank > 0) return kDone;
    return words.has("rows") ? calibrate_rows(words, streams) : calibrate_files(words, streams);
  }
  const std::unique_ptr<Processes> processes = join_processes();
  Calibration c;
  std::ostream nowhere(nullptr);
  Streams silent{nowhere, nowhere};
  const auto measure = [&] {
    c = calibrate_here(words, processes.get(), started.rank == 0 ? streams : silent);
  };
  processes != nullptr ? work_together(*processes, streams, measure) : measure();
  if (started.rank > 0) return kDone;
  const std::string document = write_calibration(c);
  if (words.has("out")) write_file(words.text("out"), document);
  streams.out << (words.has("json") ? document : text(c));
  if (words.has("out") && !words.has("quiet")) streams.err << "wrote " << words.text("out") << "\n";
  return kDone;
}

}  // namespace

Verb calibrate_verb() {
  std::vector<Flag> flags = with_scenario_flags(
      {{"rows", "FILE.csv",
        "fits the cost model's parameters to these measured rows instead (columns of "
        "assets/validation/README.md)"},
       {"devices", "N", "on so many virtual devices of this machine, as --cluster cpu:N"},
       {"networks", "N",
        "measures so many random small networks instead, of whose shapes --cost learned learns"},
       {"seconds", "S", "about so long; else 10"},
       {"mpi", "",
        "measures what the processes that mpirun or srun started take for exchanges too; under "
        "them this is usual"},
       {"json", "",
        "the document alone: trainyard/calibration@1, profile@1, links@1 or snapshot@1"}});
  for (const Flag& flag : calibrate_file_flags()) flags.push_back(flag);
  for (Flag& flag : flags)
    if (flag.name == "out") flag.doc = "writes that document there";
  return {
      .name = "calibrate",
      .summary =
          "Measures this machine at a model's kernels, or reads a recorded run or measured rows, "
          "for --calibration; reads nccl-tests and memory snapshots.",
      .flags = std::move(flags),
      .examples =
          {"calibrate --seconds 2 --out machine.json",
           "calibrate --model gpt-tiny --devices 2 --set tp=2 --set precision=fp32 "
           "--seconds 1",
           "calibrate --networks 4 --seconds 1 --out shapes.json",
           "calibrate --trace example --model llama-3-8b --cluster h100-sxm:8 --out ours.json"},
      .splits = true,
      .run = run_calibrate};
}

}  // namespace trainyard

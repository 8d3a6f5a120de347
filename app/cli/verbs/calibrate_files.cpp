#include "app/cli/verbs/calibrate_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <ostream>
#include <string>

#include "app/cli/interrupt.h"
#include "app/cli/pictures/picture_files.h"
#include "app/cli/text/plans/scenario_words.h"
#include "app/workspace/comparison/snapshot_diagnosis.h"
#include "app/workspace/comparison/snapshot_document.h"
#include "app/workspace/runs/trace_profile.h"
#include "app/workspace/scenario/open_trace.h"
#include "core/base/error.h"
#include "core/base/units_text.h"
#include "core/io/bytes/file_writer.h"
#include "core/io/bytes/files.h"
#include "core/io/documents/calibration_json.h"
#include "core/io/snapshots/memory_snapshot_import.h"
#include "core/io/traces/nccl_tests_import.h"
#include "visualizers/snapshot/snapshot_view.h"

namespace trainyard {

std::string exchanges_text(const std::vector<ExchangeTiming>& list) {
  if (list.empty()) return "";
  const bool nodes =
      std::any_of(list.begin(), list.end(), [](const auto& t) { return t.per_node > 0; });
  std::string out = fmt::format("\n  {:<16} {:>5} {}{:>10} {:>10} {:>12}\n", "exchange", "ranks",
                                nodes ? "in a node " : "", "bytes", "time", "rate");
  for (const ExchangeTiming& t : list)
    out += fmt::format(
        "  {:<16} {:>5} {}{:>10} {:>10} {:>12}\n", exchange_words(t), t.ranks,
        nodes ? fmt::format("{:>9} ", t.per_node > 0 ? fmt::format("{}", t.per_node) : "") : "",
        readable(t.bytes), readable(t.time),
        readable(BytesPerSecond{static_cast<double>(t.bytes.value) / to_seconds(t.time)}));
  return out;
}

std::string_view exchange_words(const ExchangeTiming& t) {
  return t.collective ? to_string(*t.collective) : "message";
}

namespace {

constexpr std::size_t kOwnersShown = 12;

std::string links_text(const NcclTable& table, const LinkFit& f) {
  std::string out = fmt::format(
      "{}{}\n\nstart         {}\nbandwidth     {} of the bus (busbw = algbw x {:.4g})\n"
      "residuals     {:.1f} % (median), {:.1f} % at worst; held out {:.1f} %\n\n",
      f.collective.empty() ? table.source : f.collective,
      f.ranks > 0 ? fmt::format(" of {} ranks", f.ranks) : "", readable(f.start),
      readable(f.bandwidth), f.bus_factor, 100 * f.median_error, 100 * f.worst_error,
      100 * f.held_out);
  out += fmt::format("  {:>12} {:>10} {:>12} {:>12} {:>12} {:>12} {:>9}\n", "size", "", "measured",
                     "algbw", "busbw", "fitted", "error");
  for (const LinkResidual& r : f.residuals) {
    const BytesPerSecond algorithm{static_cast<double>(r.bytes.value) / to_seconds(r.measured)};
    out +=
        fmt::format("  {:>12} {:>10} {:>12} {:>12} {:>12} {:>12} {:>+7.1f} %\n", readable(r.bytes),
                    r.in_place ? "in place" : "", readable(r.measured), readable(algorithm),
                    readable(algorithm * f.bus_factor), readable(r.fitted), 100 * r.error());
  }
  return out;
}

// With a cluster, what collectives reached becomes prices for plans on it.
int run_nccl_prices(const Words& words, Streams& streams) {
  const Cluster cluster = open_parts(words).cluster;
  Calibration c;
  c.device = cluster.device.id;
  std::string text;
  for (const std::string& path : words.texts("nccl")) {
    const NcclTable table = parse_nccl_tests(read_file(path), path);
    const std::vector<ExchangeTiming> read = exchanges_of(table);
    c.exchanges.insert(c.exchanges.end(), read.begin(), read.end());
    c.machine += (c.machine.empty() ? "nccl-tests " : ", ") + path;
    text += links_text(table, fit_links(table));
  }
  c.machine += " on " + cluster.device.id;
  c.copy = {Duration{}, {cluster.device.memory_bandwidth.value.value}};
  c.reduce = c.copy.rate;
  c.notes = {"kernels and all other collectives take what the cost model says"};
  const std::string document = write_calibration(c);
  if (words.has("out")) write_file(words.text("out"), document);
  streams.out << (words.has("json") ? document : text);
  return kDone;
}

int run_nccl(const Words& words, Streams& streams) {
  if (words.has("cluster")) return run_nccl_prices(words, streams);
  if (words.texts("nccl").size() > 1)
    throw Error(Error::Kind::InvalidInput,
                "expected --cluster beside several tables, which are prices of its collectives",
                {"--nccl"});
  const std::string path = words.text("nccl");
  const NcclTable table = parse_nccl_tests(read_file(path), path);
  const LinkFit fitted = fit_links(table);
  const std::string document = links_document(table, fitted);
  if (words.has("out")) write_file(words.text("out"), document);
  streams.out << (words.has("json") ? document : links_text(table, fitted));
  return kDone;
}

std::string owners_text(const SnapshotFindings& found) {
  std::string out = fmt::format("\n  {:<44} {:<16} {:>8} {:>12}\n", "alive at the peak", "category",
                                "blocks", "bytes");
  for (std::size_t i = 0; i < std::min(kOwnersShown, found.peak.size()); ++i) {
    const SnapshotOwner& o = found.peak[i];
    out += fmt::format("  {:<44} {:<16} {:>8} {:>12}\n", o.name.substr(0, 44),
                       to_string(o.category), o.blocks, readable(o.bytes));
  }
  if (found.peak.size() > kOwnersShown)
    out += fmt::format("  and {} more\n", found.peak.size() - kOwnersShown);
  return out;
}

std::string snapshot_text(const SnapshotFindings& found) {
  const SnapshotWave& w = found.wave;
  const Bytes peak = total(w.wave.samples[w.wave.peak].bytes);
  return fmt::format(
             "device        {}\npeak          {} allocated\nreserved      {} at most, {:.1f} % "
             "of it in no block\n",
             w.device, readable(peak), readable(w.reserved[w.most_reserved]),
             100 * (1 - found.used_share)) +
         owners_text(found);
}

int run_snapshot(const Words& words, Streams& streams) {
  const InterruptStop interrupt;
  const MemorySnapshot snapshot =
      import_memory_snapshot(words.text("snapshot"), {interrupt.token(), {}});
  const auto device = static_cast<int>(words.integer("device", 0, 1 << 20, -1));
  if (!words.has("quiet"))
    for (const std::string& defect : snapshot.defects) streams.err << defect << "\n";
  const bool planned = words.has("model");
  SnapshotDiagnosis d;
  if (planned)
    d = diagnose(
        snapshot, open_scenario(words, streams),
        {device, static_cast<int>(words.integer("rank", 0, 1 << 20, -1)), interrupt.token()});
  else
    d.found = snapshot_findings(snapshot, device < 0 ? fullest_device(snapshot) : device);
  if (asks_for_picture(words))
    write_picture(snapshot_picture(snapshot_model(d)), Theme::Dark, words, streams);
  const std::string document = snapshot_document(snapshot, d);
  if (words.has("out")) write_file(words.text("out"), document);
  if (words.has("json")) {
    streams.out << document;
    return kDone;
  }
  streams.out << snapshot_text(d.found);
  if (planned) {
    streams.out << "\n" << d.sentence << "\n";
    for (const SnapshotCause& cause : d.others)
      if (cause.apart < 1)  // otherwise it explains nothing of the recording
        streams.out << fmt::format("  next: {} ({:.0f} % of the peak unexplained)\n", cause.words,
                                   100 * cause.apart);
  }
  return kDone;
}

// Says how much longer work took beside work of the other sort, and what a plan is priced with.
std::string contention_text(const std::vector<MeasuredContention>& list) {
  if (list.empty()) return "";
  std::string out = fmt::format("\n  {:<28} {:>8} {:>12} {:>8} {:>9}\n", "beside the other",
                                "pieces", "apart", "factor", "spread");
  for (const MeasuredContention& m : list)
    out += fmt::format("  {:<28} {:>8} {:>12} {:>8.3g} {:>7.1f} %\n", m.of, m.kernels,
                       readable(m.time), m.factor, 100 * m.spread);
  if (const std::optional<double> lost = contention_of(list))
    out += fmt::format(
        "contention    communication hidden behind computation costs {:.1f} % of its time\n",
        100 * *lost);
  return out;
}

std::string prices_text(const TraceProfile& profile) {
  const TracePrices& p = profile.prices;
  std::string out = fmt::format(
      "{}\n\nstep          {} recorded (median of {}); {} predicted without the recording, {} with "
      "it\n",
      p.calibration.machine, readable(p.step), p.steps, readable(profile.before),
      readable(profile.after));
  if (p.calibration.overhead > Duration{})
    out += fmt::format("gaps          {} a kernel\n", readable(p.calibration.overhead));
  if (p.calibration.issue > Duration{1})  // else it is in the times of kernels
    out += fmt::format("host          {} to issue a kernel\n", readable(p.calibration.issue));
  if (p.calibration.reserve > 0)
    out += fmt::format("reserved      {:.3g} times what is allocated at the peak\n",
                       p.calibration.reserve);
  out += fmt::format("\n  {:<28} {:>8} {:>12} {:>12} {:>8}  {}\n", "a step of one device", "calls",
                     "recorded", "predicted", "factor", "priced by");
  for (const TracedWork& w : p.works)
    out += fmt::format("  {:<28} {:>8} {:>12} {:>12} {:>8.3g}  {}\n", w.work, w.calls,
                       readable(w.measured), readable(w.predicted), w.factor(),
                       w.by_shape ? "shape" : "factor");
  out += exchanges_text(p.calibration.exchanges);
  if (!p.overlaps.empty())
    out += fmt::format("\n  {:<28} {:>12} {:>26}\n", "communication", "a step",
                       "beside no computation");
  for (const RecordedOverlap& overlap : p.overlaps)
    out += fmt::format(
        "  {:<28} {:>12} {:>24.1f} %\n",
        overlap.of.collective
            ? fmt::format("{} of {}", to_string(*overlap.of.collective), overlap.of.ranks)
            : "all",
        readable(overlap.time), 100 * overlap.of.share);
  out += contention_text(p.calibration.contention);
  if (!p.unseen.empty()) out += "\nnot seen, and priced as without the recording\n";
  for (const std::string& sentence : p.unseen) out += "  " + sentence + "\n";
  if (!p.notes.empty()) out += "\n";
  for (const std::string& sentence : p.notes) out += sentence + "\n";
  return out;
}

int run_recorded(const Words& words, Streams& streams) {
  for (const char* flag : {"device", "rank", "svg", "png"})
    if (words.has(flag))
      throw Error(Error::Kind::InvalidInput, "expected without --trace: it goes with --snapshot",
                  {"--" + std::string(flag)});
  for (const char* flag : {"model", "cluster"})
    if (!words.has(flag))
      throw Error(
          Error::Kind::InvalidInput,
          "expected beside --trace: model, cluster and settings of the run that was recorded",
          {"--" + std::string(flag)});
  const InterruptStop interrupt;
  Scenario scenario = open_scenario(words, streams);
  const RecordedTrace trace = open_traces(words.texts("trace"), {interrupt.token(), {}});
  if (!words.has("quiet"))
    for (const TraceDefect& defect : trace.defects) streams.err << describe(defect) << "\n";
  std::optional<MemorySnapshot> memory;
  if (words.has("snapshot"))
    memory = import_memory_snapshot(words.text("snapshot"), {interrupt.token(), {}});
  const TraceProfile profile =
      trace_profile(trace, scenario, interrupt.token(), memory ? &*memory : nullptr);
  const std::string document = write_calibration(profile.prices.calibration);
  if (words.has("out")) write_file(words.text("out"), document);
  streams.out << (words.has("json") ? document : prices_text(profile));
  return kDone;
}

}  // namespace

std::vector<Flag> calibrate_file_flags() {
  return {{"trace", "FILE",
           "makes prices of what a profiler recorded of a run (Kineto, nsys, Trainyard's own), "
           "whose model, cluster and settings are given beside it; once for each file of its ranks",
           true},
          {"nccl", "FILE",
           "fits start and bandwidth of links to what nccl-tests printed, instead; with --cluster, "
           "prices of its collectives for --calibration, once for each table",
           true},
          {"snapshot", "FILE.pickle",
           "reads a memory snapshot of PyTorch, instead; with --model and --cluster says what "
           "differs from the plan, and why; beside --trace, what the allocator reserves"},
          {"device", "N", "of the snapshot; else the fullest"},
          {"rank", "N", "of the plan that the snapshot is held against; else the nearest"},
          {"svg", "FILE", "draws the snapshot over the plan there"},
          {"png", "FILE", "the same as pixels, two a logical one"}};
}

bool asks_for_calibrate_files(const Words& words) {
  std::string asked;
  for (const std::string_view flag : {"trace", "snapshot", "nccl"}) {
    if (!words.has(flag)) continue;
    if (asked == "trace" && flag == "snapshot") continue;
    if (!asked.empty())
      throw Error(Error::Kind::InvalidInput,
                  fmt::format("expected one of --trace, --nccl and --snapshot, found --{} and --{}",
                              asked, flag),
                  {"calibrate"});
    asked = flag;
  }
  return !asked.empty();
}

int calibrate_files(const Words& words, Streams& streams) {
  if (words.has("trace")) return run_recorded(words, streams);
  return words.has("nccl") ? run_nccl(words, streams) : run_snapshot(words, streams);
}

}  // namespace trainyard

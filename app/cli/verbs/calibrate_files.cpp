#include "app/cli/verbs/calibrate_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>
#include <string>

#include "app/cli/interrupt.h"
#include "app/cli/pictures/picture_files.h"
#include "app/cli/text/scenario_words.h"
#include "app/workspace/comparison/snapshot_diagnosis.h"
#include "app/workspace/comparison/snapshot_document.h"
#include "core/base/error.h"
#include "core/base/units_text.h"
#include "core/io/bytes/file_writer.h"
#include "core/io/bytes/files.h"
#include "core/io/snapshots/memory_snapshot_import.h"
#include "core/io/traces/nccl_tests_import.h"
#include "visualizers/snapshot/snapshot_view.h"

namespace trainyard {
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

int run_nccl(const Words& words, Streams& streams) {
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

}  // namespace

std::vector<Flag> calibrate_file_flags() {
  return {{"nccl", "FILE",
           "fits start and bandwidth of links to what nccl-tests printed, instead; to be read, "
           "--calibration does not take it"},
          {"snapshot", "FILE.pickle",
           "reads a memory snapshot of PyTorch, instead; with --model and --cluster says what "
           "differs from the plan, and why"},
          {"device", "N", "of the snapshot; else the fullest"},
          {"rank", "N", "of the plan that the snapshot is held against; else the nearest"},
          {"svg", "FILE", "draws the snapshot over the plan there"},
          {"png", "FILE", "the same as pixels, two a logical one"}};
}

bool asks_for_calibrate_files(const Words& words) {
  if (words.has("nccl") && words.has("snapshot"))
    throw Error(Error::Kind::InvalidInput, "expected one of --nccl and --snapshot, found both",
                {"calibrate"});
  return words.has("nccl") || words.has("snapshot");
}

int calibrate_files(const Words& words, Streams& streams) {
  return words.has("nccl") ? run_nccl(words, streams) : run_snapshot(words, streams);
}

}  // namespace trainyard

// trace: shows what a profiler recorded of a run, by process, step and kernel.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "app/cli/interrupt.h"
#include "app/cli/pictures/picture_files.h"
#include "app/cli/status_line.h"
#include "app/cli/text/plans/scenario_words.h"
#include "app/cli/text/rule_text.h"
#include "app/workspace/scenario/open_trace.h"
#include "core/base/error.h"
#include "core/base/saturating.h"
#include "core/base/units_text.h"
#include "core/io/documents/recorded_trace_json.h"
#include "core/io/traces/recorded_trace_file.h"
#include "visualizers/recorded/recorded_view.h"
#include "visualizers/recorded/straggler_words.h"

namespace trainyard {
namespace {

constexpr std::size_t kNamesShown = 12, kStepsShown = 8;

TraceRange range_of(const Words& words, const TraceExtent& extent) {
  const Place place{"--range"};
  const std::string text = words.text("range");
  const std::size_t dots = text.find("..");
  if (dots == std::string::npos)
    throw Error(Error::Kind::InvalidInput,
                fmt::format("expected FROM..TO as 1.2s..1.5s, found \"{}\"", text.substr(0, 60)),
                place);
  const auto bound = [&](const std::string& word, Instant otherwise) {
    return word.empty() ? otherwise : parse_duration(word, place);
  };
  return range_within(extent, bound(text.substr(0, dots), Instant{0}),
                      bound(text.substr(dots + 2), extent.end), place);
}

std::string percent(Duration part, Duration whole) {
  return fmt::format("{:.1f} %", 100 * to_seconds(part) / to_seconds(whole));
}

std::string steps_text(const RecordedTrace& t) {
  if (t.steps.empty()) return "steps         none are marked in it\n";
  std::string out = fmt::format("steps         {} marked", t.steps.size());
  if (const Duration step = median_step(t); step > Duration{})
    out += fmt::format(", {} (median)", readable(step));
  out += "\n";
  for (std::size_t i = 0; i < std::min(kStepsShown, t.steps.size()); ++i)
    out += fmt::format("  {:<24} {:>8} {:>12}\n", t.processes[t.steps[i].process].name,
                       t.steps[i].number, readable(t.steps[i].to - t.steps[i].from));
  if (t.steps.size() > kStepsShown)
    out += fmt::format("  and {} more\n", t.steps.size() - kStepsShown);
  return out;
}

std::string shares_text(const RecordedTrace& t, const std::vector<RecordedShare>& shares,
                        Duration whole) {
  std::string out = fmt::format("\n  {:<24} {:>6} {:>10} {:>10} {:>14} {:>10} {:>10}\n", "process",
                                "rank", "spans", "computes", "communicates", "copies", "idle");
  for (const RecordedShare& s : shares) {
    const RecordedProcess& p = t.processes[s.process];
    out += fmt::format("  {:<24} {:>6} {:>10} {:>10} {:>14} {:>10} {:>10}\n", p.name.substr(0, 24),
                       p.rank < 0 ? "" : std::to_string(p.rank), s.spans, percent(s.compute, whole),
                       percent(s.communication, whole), percent(s.transfer, whole),
                       percent(s.idle, whole));
  }
  std::array<Duration, kRecordedKinds> busy{};
  for (const RecordedShare& s : shares)
    for (std::size_t k = 0; k < kRecordedKinds; ++k) busy[k] = saturating_sum(busy[k], s.busy[k]);
  out += "\n";
  for (std::size_t k = 0; k < kRecordedKinds; ++k)
    if (busy[k] > Duration{})
      out += fmt::format("  {:<24} {:>12}\n", to_string(static_cast<RecordedKind>(k)),
                         readable(busy[k]));
  return out + "  (communication and copies of a process count where nothing hides them)\n";
}

std::string names_text(const RecordedModel& m, TimeRange range) {
  std::vector<NameStatistics> list = recorded_statistics(m, range.from, range.to);
  std::string out = fmt::format("\n  {:<48} {:>8} {:>12} {:>12} {:>12}\n", "name", "count", "sum",
                                "median", "longest");
  for (std::size_t i = 0; i < std::min(kNamesShown, list.size()); ++i)
    out += fmt::format("  {:<48} {:>8} {:>12} {:>12} {:>12}\n",
                       m.trace.names[list[i].name].substr(0, 48), list[i].count,
                       readable(list[i].sum), readable(list[i].median), readable(list[i].longest));
  if (list.size() > kNamesShown) out += fmt::format("  and {} more\n", list.size() - kNamesShown);
  return out;
}

std::string counters_text(const RecordedTrace& t) {
  std::string out;
  std::size_t listed = 0;
  for (const RecordedCounter& c : t.counters) {
    if (c.value.empty() || ++listed > kNamesShown) continue;
    const double peak = *std::max_element(c.value.begin(), c.value.end());
    out += fmt::format("  {:<24} {:<34} {:>8} {:>12}\n", t.processes[c.process].name.substr(0, 24),
                       c.name.substr(0, 34), c.at.size(),
                       c.bytes && peak < 9e18 ? readable(Bytes{static_cast<std::int64_t>(peak)})
                                              : fmt::format("{:.4g}", peak));
  }
  if (listed > kNamesShown) out += fmt::format("  and {} more\n", listed - kNamesShown);
  return out.empty() ? out
                     : fmt::format("\n  {:<24} {:<34} {:>8} {:>12}\n", "process", "counter",
                                   "samples", "peak") +
                           out;
}

std::string stragglers_text(const RecordedModel& m) {
  std::string out = "\n" + straggler_scope(m) + "\n";
  for (const StragglerSentence& one : straggler_sentences(m, kNamesShown))
    out += "  " + one.text + "\n";
  return out;
}

std::string rules_text(const RecordedTrace& t) {
  const FiredRules fired = judge_timeline(usual_rules(), timeline_facts(t));
  if (fired.empty()) return "";
  Out out = "\nrules that fire on it\n";
  write_fired(out, fired);
  return out;
}

std::string text_of(const RecordedModel& m, TimeRange range,
                    const std::vector<RecordedShare>& shares, const std::string& rules) {
  const RecordedTrace& t = m.trace;
  std::string out = t.source + "\n";
  if (!t.device.empty()) out += "device        " + t.device + "\n";
  if (t.ranks > 0) out += fmt::format("ranks         {}\n", t.ranks);
  out += fmt::format("recorded      {} events, {} spans{}, {}\n", t.events, m.spans.start.size(),
                     t.part ? " of the range" : "", readable(t.part ? t.part->whole : m.end));
  if (t.part)
    out += fmt::format("range         {} to {}\n", readable(range.from), readable(range.to));
  for (const std::string& note : t.notes) out += "note          " + note + "\n";
  out += steps_text(t) + shares_text(t, shares, range.length()) + names_text(m, range) +
         stragglers_text(m) + rules + counters_text(t);
  if (t.defects.empty()) return out;
  out += "\nwhat it lacks\n";
  for (const TraceDefect& d : t.defects) out += "  " + describe(d) + "\n";
  return out;
}

// With a range, files are scanned before it is decided what to read of them; files that are fast to
// read are read whole and then cut.
RecordedTrace read_asked(const Words& words, StatusLine& line) {
  const std::vector<std::string> paths = words.texts("");
  const InterruptStop interrupt;
  const auto told = [&](const char* doing) {
    return [&line, doing](double share) {
      line.show(fmt::format("{} {:3.0f} %", doing, 100 * share));
    };
  };
  TraceImportOptions options{interrupt.token(), told("looking through"), {}};
  if (!words.has("range")) {
    options.progress = told("reading        ");
    return open_traces(paths, options);
  }
  if (std::any_of(paths.begin(), paths.end(), extent_comes_first)) {
    const TraceFiles files = trace_files(paths, options);
    options.progress = told("reading        ");
    return open_part(files, range_of(words, files.whole), options);
  }
  options.progress = told("reading        ");
  RecordedTrace trace = open_traces(paths, options);
  const TraceRange range = range_of(words, extent_of(trace));
  return asked_part(std::move(trace), range);
}

int run_trace(const Words& words, Streams& streams) {
  StatusLine line(words, streams);
  RecordedTrace trace = read_asked(words, line);
  line.clear();
  const RecordedPart part = recorded_part(trace);
  const TimeRange range{part.from, part.to};
  const std::string document =
      words.has("json") ? trace_document(trace, range.from, range.to) : std::string();
  if (words.has("out")) {
    write_recorded_trace(trace, words.text("out"));
    if (!words.has("quiet")) streams.err << "wrote " << words.text("out") << "\n";
  }
  if (words.has("json") && !asks_for_picture(words)) {
    streams.out << document;
    return kDone;
  }
  const std::vector<RecordedShare> shares = recorded_shares(trace, range.from, range.to);
  // The model takes the spans over, which rules read too.
  const std::string rules = words.has("json") ? std::string() : rules_text(trace);
  const auto model = recorded_model(std::move(trace));
  if (asks_for_picture(words)) {
    const bool dark = words.choice("theme", {"dark", "light"}, "dark") == "dark";
    write_picture(recorded_picture(*model, range), dark ? Theme::Dark : Theme::Light, words,
                  streams);
  }
  streams.out << (words.has("json") ? document : text_of(*model, range, shares, rules));
  return kDone;
}

}  // namespace

Verb trace_verb() {
  return {
      .name = "trace",
      .summary = "Reads a recorded trace: where the time of each process and step went.",
      .positional = "FILE...",
      .positional_doc =
          "Chrome or Kineto JSON or the CSV of nsys stats (NVTX ranges, kernels), plain or .gz, "
          "or a .tybin of --out; several of one run, a file a rank, are one recording; "
          "\"example\" is one that ships",
      .positional_required = true,
      .positionals = 4096,
      .fewer = true,
      .flags = {{"range", "FROM..TO", "reads only what touches this part of it, as 1.2s..1.5s"},
                {"out", "FILE.tybin", "keeps it in a form that opens at once"},
                {"svg", "FILE", "draws it there"},
                {"png", "FILE", "the same as pixels, two a logical one"},
                {"theme", "T", "of the picture: dark or light; else dark"},
                {"json", "", "the trainyard/trace@1 document and nothing else"},
                {"quiet", "", "says nothing on the way"}},
      .examples = {"trace example",
                   "trace example --range 100ms..300ms --svg trace.svg --out trace.tybin"},
      .run = run_trace};
}

}  // namespace trainyard

#include "app/workspace/scenario/open_trace.h"

#include <fmt/format.h>

#include <filesystem>
#include <functional>
#include <string_view>
#include <utility>

#include "app/workspace/scenario/workspace.h"
#include "core/base/error.h"
#include "core/base/units_text.h"
#include "core/exporters/trace_event.h"
#include "core/io/bytes/byte_source.h"
#include "core/io/traces/nsys_csv_import.h"
#include "core/io/traces/recorded_trace_file.h"
#include "core/timeline/merged_trace.h"

namespace trainyard {
namespace {

constexpr std::size_t kHeadRead = std::size_t{64} << 10;

// Decides by content; a file that is neither is refused in the terms of its extension.
bool is_csv(const std::string& path, std::string_view head) {
  const std::size_t first = head.find_first_not_of(" \t\r\n");
  if (first != std::string_view::npos && (head[first] == '{' || head[first] == '[')) return false;
  return is_nsys_csv(head) || path.ends_with(".csv") || path.ends_with(".csv.gz");
}

const char* const kExampleSource = "example: a simulated step of llama-3-8b on h100-sxm:8";

std::string example_text() {
  const Scenario scenario =
      open({"llama-3-8b",
            "h100-sxm:8",
            "",
            {"tp=2", "pp=4", "micro-batch=1", "global-batch=16", "seq=4096"}});
  return trace_event(*simulate(scenario, {.grain = Grain::Order, .fixes = false}));
}

enum class TraceForm { Example, Own, Csv, Json };

TraceForm form_of(const std::string& path) {
  std::error_code ignored;
  if (path == "example" && !std::filesystem::exists(path, ignored)) return TraceForm::Example;
  std::string head(kHeadRead, '\0');
  head.resize(file_bytes(path)->read(head.data(), head.size()));
  if (is_recorded_trace(head)) return TraceForm::Own;
  return is_csv(path, head) ? TraceForm::Csv : TraceForm::Json;
}

RecordedTrace read_form(const std::string& path, const TraceImportOptions& options) {
  switch (form_of(path)) {
    case TraceForm::Example:
      return parse_chrome_trace(example_text(), kExampleSource, options);
    case TraceForm::Csv:
      return import_nsys_csv(path, options);
    case TraceForm::Json:
      return import_chrome_trace(path, options);
    case TraceForm::Own:
      break;
  }
  RecordedTrace trace = read_recorded_trace(path, options.stop);
  if (!options.range) return trace;
  return part_of(std::move(trace), options.range->from, options.range->to);
}

void expect_spans(const RecordedTrace& trace, const TraceRange& range) {
  if (!trace.start.empty()) return;
  throw Error(Error::Kind::InvalidInput,
              fmt::format("expected a range that a span touches, found none in {} to {}; the "
                          "recording is from 0 s to {}",
                          readable(range.from), readable(range.to), readable(range.whole)),
              {trace.source});
}

// Reports the progress of one file as a part of `of` files, after those that are done.
template <class Done>
std::function<void(double)> part_told(const TraceImportOptions& options, const Done& done,
                                      std::size_t of) {
  return [&options, &done, of](double share) {
    if (options.progress)
      options.progress((static_cast<double>(done.size()) + share) / static_cast<double>(of));
  };
}

}  // namespace

RecordedTrace open_trace(const std::string& path, const TraceImportOptions& options) {
  RecordedTrace trace = read_form(path, options);
  if (options.range) expect_spans(trace, *options.range);
  return trace;
}

TraceFiles trace_files(const std::vector<std::string>& paths, const TraceImportOptions& options) {
  TraceFiles files{paths, {}, {}, {}};
  for (const std::string& path : paths)
    files.extents.push_back(
        trace_extent(path, {options.stop, part_told(options, files.extents, paths.size()), {}}));
  files.clocks = clocks_of(files.extents);
  files.whole = together(files.extents, files.clocks);
  return files;
}

RecordedTrace open_part(const TraceFiles& files, const TraceRange& range,
                        const TraceImportOptions& options) {
  if (files.paths.size() == 1)
    return open_trace(files.paths.front(), {options.stop, options.progress, range});
  std::vector<RecordedTrace> parts;
  AlignedClocks clocks{{}, files.clocks.note};
  for (std::size_t i = 0; i < files.paths.size(); ++i) {
    const auto part = range_in(files.extents[i], files.clocks.shifts[i], range);
    if (!part) continue;
    parts.push_back(read_form(files.paths[i],
                              {options.stop, part_told(options, parts, files.paths.size()), part}));
    clocks.shifts.push_back(files.clocks.shifts[i]);
  }
  RecordedTrace whole;
  whole.source = files.paths.front();
  if (!parts.empty()) whole = merged_trace(std::move(parts), clocks);
  expect_spans(whole, range);
  whole.part = RecordedPart{range.from, range.to, range.whole};
  whole.events = files.whole.events;
  return whole;
}

RecordedTrace open_traces(const std::vector<std::string>& paths,
                          const TraceImportOptions& options) {
  if (paths.size() == 1) return open_trace(paths.front(), options);
  std::vector<RecordedTrace> traces;
  for (const std::string& path : paths)
    traces.push_back(read_form(path, {options.stop, part_told(options, traces, paths.size()), {}}));
  RecordedTrace whole = merged_trace(std::move(traces));
  return options.range ? asked_part(std::move(whole), *options.range) : whole;
}

RecordedTrace asked_part(RecordedTrace whole, const TraceRange& range) {
  RecordedTrace part = part_of(std::move(whole), range.from, range.to);
  expect_spans(part, range);
  return part;
}

bool extent_comes_first(const std::string& path) {
  const TraceForm form = form_of(path);
  return form == TraceForm::Csv || form == TraceForm::Json;
}

TraceExtent trace_extent(const std::string& path, const TraceImportOptions& options) {
  switch (form_of(path)) {
    case TraceForm::Example:
      return parse_chrome_trace_extent(example_text(), kExampleSource, options);
    case TraceForm::Csv:
      return nsys_csv_extent(path, options);
    case TraceForm::Json:
      return chrome_trace_extent(path, options);
    case TraceForm::Own:
      break;
  }
  return extent_of(read_recorded_trace(path, options.stop));
}

}  // namespace trainyard

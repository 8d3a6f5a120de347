#include "app/workspace/open_trace.h"

#include <filesystem>

#include "app/workspace/workspace.h"
#include "core/exporters/trace_event.h"
#include "core/io/byte_source.h"
#include "core/io/recorded_trace_file.h"

namespace trainyard {
namespace {

RecordedTrace example(const TraceImportOptions& options) {
  const Scenario scenario =
      open({"llama-3-8b",
            "h100-sxm:8",
            "",
            {"tp=2", "pp=4", "micro-batch=1", "global-batch=16", "seq=4096"}});
  return parse_chrome_trace(
      trace_event(*simulate(scenario, {.grain = Grain::Order, .fixes = false})),
      "example: a simulated step of llama-3-8b on h100-sxm:8", options);
}

}  // namespace

RecordedTrace open_trace(const std::string& path, const TraceImportOptions& options) {
  std::error_code ignored;
  if (path == "example" && !std::filesystem::exists(path, ignored)) return example(options);
  char first[8] = {};
  const std::size_t got = file_bytes(path)->read(first, sizeof first);
  if (is_recorded_trace({first, got})) return read_recorded_trace(path, options.stop);
  return import_chrome_trace(path, options);
}

}  // namespace trainyard

#include "app/workspace/open_trace.h"

#include <filesystem>
#include <string_view>

#include "app/workspace/workspace.h"
#include "core/exporters/trace_event.h"
#include "core/io/byte_source.h"
#include "core/io/nsys_csv_import.h"
#include "core/io/recorded_trace_file.h"

namespace trainyard {
namespace {

constexpr std::size_t kHeadRead = std::size_t{64} << 10;

// By what it holds; a file that is neither is refused in the words of what its name says.
bool is_csv(const std::string& path, std::string_view head) {
  const std::size_t first = head.find_first_not_of(" \t\r\n");
  if (first != std::string_view::npos && (head[first] == '{' || head[first] == '[')) return false;
  return is_nsys_csv(head) || path.ends_with(".csv") || path.ends_with(".csv.gz");
}

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
  std::string head(kHeadRead, '\0');
  head.resize(file_bytes(path)->read(head.data(), head.size()));
  if (is_recorded_trace(head)) return read_recorded_trace(path, options.stop);
  if (is_csv(path, head)) return import_nsys_csv(path, options);
  return import_chrome_trace(path, options);
}

}  // namespace trainyard

#include "app/desktop/session/file_kind.h"

#include <QFileInfo>

#include <algorithm>
#include <fstream>
#include <optional>

#include "core/io/bytes/files.h"
#include "core/io/json/json.h"
#include "core/io/models/tensor_file.h"
#include "core/io/snapshots/memory_snapshot_import.h"
#include "core/io/traces/nsys_csv_import.h"
#include "core/io/traces/recorded_trace_file.h"

namespace trainyard {
namespace {

// The kind of a file that is not JSON. Recordings may be gigabytes, so only their beginning is
// read.
std::optional<FileKind> plain_kind(const std::string& path) {
  std::string head(std::size_t{64} << 10, '\0');
  std::ifstream file(path, std::ios::binary);
  file.read(head.data(), static_cast<std::streamsize>(head.size()));
  head.resize(static_cast<std::size_t>(std::max<std::streamsize>(0, file.gcount())));
  const auto holds = [&](const char* words) { return head.find(words) != std::string::npos; };
  if (is_pickle(head)) return FileKind::Snapshot;
  if (is_recorded_trace(head) || head.starts_with("\x1f\x8b")) return FileKind::Trace;
  const std::size_t first = head.find_first_not_of(" \t\r\n");
  const char begins = first == std::string::npos ? '\0' : head[first];
  if (begins == '[' || (begins == '{' && (holds("\"traceEvents\"") || holds("\"schemaVersion\""))))
    return FileKind::Trace;
  if (begins != '{' && holds("algbw") && holds("busbw")) return FileKind::NcclTests;
  if (begins != '{' && is_nsys_csv(head)) return FileKind::Trace;
  const QString ending = QFileInfo(QString::fromStdString(path)).suffix().toLower();
  if (begins != '{' && (ending == "csv" || ending == "txt")) return FileKind::Pipeline;
  return {};
}

}  // namespace

FileKind file_kind(const std::string& path) {
  if (QFileInfo(QString::fromStdString(path)).isDir()) return FileKind::Model;
  if (is_tensor_file(path) || path.ends_with(".onnx")) return FileKind::Model;
  if (const auto kind = plain_kind(path)) return *kind;
  const Json document = parse_json(read_file(path), path);
  const Json* name = document.find("schema");
  const std::string* text = name == nullptr ? nullptr : name->text();
  if (text == nullptr) return FileKind::Model;
  const std::string kind = text->substr(0, text->find('@'));
  if (kind == "trainyard/project") return FileKind::Project;
  if (kind == "trainyard/cluster") return FileKind::Cluster;
  if (kind == "trainyard/plan") return FileKind::Plan;
  if (kind == "trainyard/model") return FileKind::Model;
  if (kind == "trainyard/calibration" || kind == "trainyard/profile") return FileKind::Calibration;
  if (kind == "trainyard/benchmark-report") return FileKind::Report;
  throw Error(Error::Kind::InvalidInput,
              "expected a project, a model's config.json, a cluster, a plan, a calibration or a "
              "benchmark report, found a document \"" +
                  kind.substr(0, 60) + "\"",
              {path});
}

}  // namespace trainyard

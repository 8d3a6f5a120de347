#include "app/desktop/file_kind.h"

#include <QFileInfo>

#include "core/io/files.h"
#include "core/io/json.h"
#include "core/io/tensor_header.h"

namespace trainyard {

FileKind file_kind(const std::string& path) {
  if (QFileInfo(QString::fromStdString(path)).isDir()) return FileKind::Model;
  if (is_tensor_file(path) || path.ends_with(".onnx")) return FileKind::Model;
  const Json document = parse_json(read_file(path), path);
  const Json* name = document.find("schema");
  const std::string* text = name == nullptr ? nullptr : name->text();
  if (text == nullptr) return FileKind::Model;
  const std::string kind = text->substr(0, text->find('@'));
  if (kind == "trainyard/project") return FileKind::Project;
  if (kind == "trainyard/cluster") return FileKind::Cluster;
  if (kind == "trainyard/plan") return FileKind::Plan;
  if (kind == "trainyard/model") return FileKind::Model;
  throw Error(
      Error::Kind::InvalidInput,
      "expected a project, a model's config.json, a cluster or a plan, found a document \"" +
          kind.substr(0, 60) + "\"",
      {path});
}

}  // namespace trainyard

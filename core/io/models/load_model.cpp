#include "core/io/models/load_model.h"

#include <filesystem>

#include "core/base/error.h"
#include "core/io/bytes/files.h"
#include "core/io/bytes/limits.h"
#include "core/io/documents/model_json.h"
#include "core/io/json/inline_document.h"
#include "core/io/json/schema.h"
#include "core/io/models/onnx_import.h"
#include "core/io/models/tensor_file.h"
#include "core/model/zoo/presets.h"
#include "core/model/zoo/zoo.h"

namespace trainyard {
namespace {

namespace fs = std::filesystem;

// A bare word is a name rather than a file: "gpt2" is the model, even if the current folder
// contains a file of that name.
bool looks_like_path(std::string_view text) {
  return text.find('/') != std::string_view::npos || text.ends_with(".json") ||
         text.ends_with(".onnx") || is_tensor_file(text);
}

ImportedModel load_file(const std::string& path) {
  if (is_tensor_file(path)) return load_tensor_header(path);
  if (path.ends_with(".onnx")) return import_onnx(read_file(path, kLargestOnnx), path);
  const std::string text = read_file(path, kLargestConfig);
  const Json document = parse_json(text, path);
  if (document.find("schema")) return {model_from_json(document, path), {}};
  return import_hf_config_with_report(text, path);
}

// The config is taken where there is one, because it says most; otherwise the header of the
// weights.
std::string model_in(const std::string& folder) {
  for (const char* name : {"config.json", "model.safetensors.index.json", "model.safetensors"}) {
    const fs::path file = fs::path(folder) / name;
    std::error_code ignored;
    if (fs::is_regular_file(file, ignored)) return file.lexically_normal().string();
  }
  throw Error(Error::Kind::InvalidInput, "expected a folder with a config.json, found none in it",
              Place{folder});
}

}  // namespace

ImportedModel load_model_with_report(std::string_view name_or_path) {
  const std::string path(name_or_path);
  if (is_inline_document(path)) return {read_model(path, "model"), {}};
  if (names_preset(path)) return {preset_model(path), {}};
  std::error_code ignored;
  const bool exists =
      !path.empty() && path.find('\0') == std::string::npos && fs::exists(path, ignored);
  if (!looks_like_path(path) && (find_in_zoo(path) || !exists)) return {zoo_model(path), {}};
  if (fs::is_directory(path, ignored)) return load_file(model_in(path));
  return load_file(path);
}

Model load_model(std::string_view name_or_path) {
  return load_model_with_report(name_or_path).model;
}

}  // namespace trainyard

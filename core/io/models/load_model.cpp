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
#include "core/model/images.h"
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

// The name of a model that reads images, and what follows it, as in "llava-1.5-7b:images=4".
struct NamedImages {
  std::string name;
  std::int64_t images = 0, side = 0;  // 0: as the model has it
};

bool is_there(const std::string& path) {
  std::error_code ignored;
  return !path.empty() && path.find('\0') == std::string::npos && fs::exists(path, ignored);
}

NamedImages named_images(const std::string& words) {
  constexpr PresetSize kSizes[] = {
      {"images", 0, 1, 4096, "images", "of a sample"},
      {"image", 0, 1, 65536, "pixels", "height and width of an image"}};
  const std::size_t colon = words.rfind(':');
  const std::string name = words.substr(0, colon);
  const bool sizable = find_in_zoo(name) != nullptr || (looks_like_path(name) && is_there(name));
  if (colon == std::string::npos || !sizable || is_there(words)) return {words};
  try {
    const std::vector<std::int64_t> values =
        read_sizes("the images of a model", kSizes, std::string_view(words).substr(colon + 1));
    return {name, values[0], values[1]};
  } catch (const Error& error) {
    throw Error(error.kind(), error.what(), Place{"model \"" + words.substr(0, 200) + "\""});
  }
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

ImportedModel load_named(const std::string& path) {
  if (is_inline_document(path)) return {read_model(path, "model"), {}};
  if (names_preset(path)) return {preset_model(path), {}};
  std::error_code ignored;
  if (!looks_like_path(path) && (find_in_zoo(path) || !is_there(path)))
    return {zoo_model(path), {}};
  return load_file(fs::is_directory(path, ignored) ? model_in(path) : path);
}

}  // namespace

ImportedModel load_model_with_report(std::string_view name_or_path) {
  const std::string words(name_or_path);
  if (is_inline_document(words)) return load_named(words);
  const NamedImages named = named_images(words);
  ImportedModel loaded = load_named(named.name);
  if (named.name == words) return loaded;
  loaded.model = with_images(std::move(loaded.model), named.images, named.side);
  loaded.model.name += words.substr(named.name.size());
  return loaded;
}

Model load_model(std::string_view name_or_path) {
  return load_model_with_report(name_or_path).model;
}

}  // namespace trainyard

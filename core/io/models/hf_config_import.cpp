#include "core/io/models/hf_config_import.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "core/base/nearest.h"
#include "core/io/json/json.h"
#include "core/io/models/hf_config_keys.h"
#include "core/io/models/hf_readers.h"
#include "core/io/models/hf_vision.h"

namespace trainyard {
namespace {

const std::vector<HfReader>& hf_all_readers() {
  static const std::vector<HfReader> all = [] {
    std::vector<HfReader> list;
    for (const std::span<const HfReader> group :
         {hf_established(), hf_dense(), hf_routed(), hf_hybrid()})
      list.insert(list.end(), group.begin(), group.end());
    return list;
  }();
  return all;
}

const HfReader* find_reader(std::string_view type) {
  for (const HfReader& reader : hf_all_readers())
    if (type == reader.type) return &reader;
  return nullptr;
}

std::string type_of(const JsonCursor& config) {
  const auto type = config.find("model_type");
  return type ? type->text() : "";
}

// Returns the object to read: the root, or the language part of a multimodal model.
JsonCursor text_part(const JsonCursor& root) {
  const bool flat = find_reader(type_of(root)) != nullptr;
  if (flat && !root.has("text_config")) return root;
  for (const char* key : {"text_config", "llm_config", "language_config"})
    if (const auto part = root.find(key)) return *part;
  return root;
}

const HfReader& reader_of(const JsonCursor& config) {
  if (!config.has("model_type"))
    config.refuse("expected a Hugging Face config with the key \"model_type\", found none");
  const JsonCursor type = config.at("model_type");
  if (const HfReader* reader = find_reader(type.text())) return *reader;
  const auto& types = hf_model_types();
  std::string list;
  for (const std::string& known : types) list += (list.empty() ? "" : ", ") + known;
  // "qwen3_next" is not a misspelt qwen3 but another architecture, and a user who followed that
  // suggestion would silently get another model. So a name that extends a known one gets no
  // suggestion.
  const std::string found = type.text();
  for (const HfRefused& known : hf_refused())
    if (found == known.type)
      type.refuse(
          fmt::format("expected a model_type that we can read ({}), found \"{}\"; it has "
                      "{}, which no layer here can express; the nearest is \"{}\"",
                      list, found, known.has, known.nearest));
  const bool own = std::any_of(types.begin(), types.end(), [&](const std::string& known) {
    return found.starts_with(known + "_") || found.starts_with(known + "-");
  });
  type.refuse("expected a model_type that we can read (" + list + "), found \"" +
              found.substr(0, 60) + "\"" +
              (own ? "; it is an architecture of its own: write it as a trainyard/model file"
                   : did_you_mean(found, types)));
}

// Names the towers of a multimodal model that are left out.
std::string left_out(const JsonCursor& root, bool sees) {
  std::string list;
  int found = 0;
  const std::pair<const char*, const char*> towers[] = {
      {"vision_config", "vision"}, {"audio_config", "audio"}, {"speech_config", "speech"}};
  for (const auto& [key, what] : towers) {
    const auto tower = root.find(key);
    if (!tower || tower->value().as_object() == nullptr) continue;
    if (sees && key == std::string_view("vision_config")) continue;
    ++found;
    list += std::string(list.empty() ? ": its " : ", its ") + what + " tower";
    for (const char* layers : {"num_hidden_layers", "depth", "layers", "encoder_layers"})
      if (const auto count = tower->find(layers); count && count->value().integer() != nullptr) {
        list += " of " + std::to_string(*count->value().integer()) + " layers";
        break;
      }
  }
  return list.empty() ? "" : list + (found > 1 ? " are left out" : " is left out");
}

void add_fields(const JsonCursor& config, const std::string& where, ImportReport& report) {
  for (const std::string& key : config.keys()) {
    ++report.fields;
    if (!is_known_hf_key(key)) report.unknown.push_back(where + key);
  }
}

// Puts the vision tower of a multimodal config in front of its decoder, and returns whether it has
// one that can be read.
bool add_vision(const JsonCursor& root, std::vector<std::string>& assumed, Model& model) {
  if (!has_hf_vision(type_of(root))) return false;
  HfFields fields(root, type_of(root));
  const Graph& embedding = model.blocks.front().graph;
  std::optional<VisionSpec> vision =
      hf_vision(fields, embedding[embedding.output].shape.back().size);
  if (!vision) return false;
  try {
    model = with_vision(std::move(model), *vision);
  } catch (const Error& error) {
    root.at("vision_config").refuse(error.what());
  }
  for (const std::string& sentence : fields.assumed()) assumed.push_back(sentence);
  return true;
}

// Returns "llama-3-70b" for both "models/llama-3-70b/config.json" and "models/llama-3-70b.json".
std::string model_name(std::string_view place, const std::string& fallback) {
  const auto last = [&] {
    const std::size_t slash = place.find_last_of('/');
    return slash == std::string_view::npos ? place : place.substr(slash + 1);
  };
  std::string_view name = last();
  if (name == "config.json") {
    place.remove_suffix(std::min(place.size(), name.size() + 1));
    name = last();
  } else if (name.ends_with(".json")) {
    name.remove_suffix(5);
  }
  return name.empty() || name == "." || name == ".." ? fallback : std::string(name);
}

}  // namespace

std::string ImportReport::sentence() const {
  const std::string all = std::to_string(fields);
  if (unknown.empty()) return "all " + all + " fields recognised";
  std::string list;
  for (const std::string& key : unknown) list += (list.empty() ? "" : ", ") + key;
  return std::to_string(fields - static_cast<int>(unknown.size())) + " of " + all +
         " fields recognised; not known: " + list;
}

const std::vector<std::string>& hf_model_types() {
  static const std::vector<std::string> types = [] {
    std::vector<std::string> list;
    for (const HfReader& reader : hf_all_readers()) list.emplace_back(reader.type);
    return list;
  }();
  return types;
}

ImportedModel import_hf_config_with_report(std::string_view text, std::string_view place) {
  const Json document = parse_json(text, place);
  const JsonCursor root(document, std::string(place));
  if (!document.as_object()) root.expected("a Hugging Face config (an object)");
  const JsonCursor config = text_part(root);
  const HfReader& reader = reader_of(config);
  HfFields fields(config, reader.type);
  ImportedModel result;
  try {
    result.model = reader.read(fields);
  } catch (const Error& error) {
    if (!error.place().text.empty()) throw;
    config.refuse(error.what());  // an error of a builder does not name the file
  }
  result.model.name = model_name(place, reader.type);
  std::vector<std::string> assumed = fields.assumed();
  const bool sees = add_vision(root, assumed, result.model);
  if (parameters(result.model) == std::numeric_limits<std::int64_t>::max())
    config.refuse("expected sizes whose parameters can be counted in 64 bits, found more");
  result.model.source = std::string(place);
  result.model.assumed = std::move(assumed);
  add_fields(config, "", result.report);
  if (sees) add_fields(root.at("vision_config"), "vision_config/", result.report);
  if (!result.report.unknown.empty())
    result.model.assumed.push_back(result.report.sentence() + ", which change nothing here");
  const std::string missing = left_out(root, sees);
  if (sees ? !missing.empty() : config.place() != root.place())
    result.model.assumed.push_back(
        (sees ? "only the language and the vision part" : "only the language part") +
        (" of a larger model is read" + missing));
  return result;
}

Model import_hf_config(std::string_view text, std::string_view place) {
  return import_hf_config_with_report(text, place).model;
}

}  // namespace trainyard

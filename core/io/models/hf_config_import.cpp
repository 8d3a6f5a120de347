#include "core/io/models/hf_config_import.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "core/base/nearest.h"
#include "core/io/json/json.h"
#include "core/io/models/hf_config_keys.h"
#include "core/io/models/hf_readers.h"

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
  if (find_reader(type_of(root))) return root;
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

// Names the towers of a multimodal model, which are left out.
std::string left_out(const JsonCursor& root) {
  std::string list;
  int found = 0;
  const std::pair<const char*, const char*> towers[] = {
      {"vision_config", "vision"}, {"audio_config", "audio"}, {"speech_config", "speech"}};
  for (const auto& [key, what] : towers) {
    const auto tower = root.find(key);
    if (!tower || tower->value().as_object() == nullptr) continue;
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

ImportReport report_of(const JsonCursor& config) {
  ImportReport report;
  for (std::string& key : config.keys()) {
    ++report.fields;
    if (!is_known_hf_key(key)) report.unknown.push_back(std::move(key));
  }
  return report;
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
  if (parameters(result.model) == std::numeric_limits<std::int64_t>::max())
    config.refuse("expected sizes whose parameters can be counted in 64 bits, found more");
  result.model.name = model_name(place, reader.type);
  result.model.source = std::string(place);
  result.model.assumed = fields.assumed();
  result.report = report_of(config);
  if (!result.report.unknown.empty())
    result.model.assumed.push_back(result.report.sentence() + ", which change nothing here");
  if (config.place() != root.place())
    result.model.assumed.push_back("only the language part of a larger model is read" +
                                   left_out(root));
  return result;
}

Model import_hf_config(std::string_view text, std::string_view place) {
  return import_hf_config_with_report(text, place).model;
}

}  // namespace trainyard

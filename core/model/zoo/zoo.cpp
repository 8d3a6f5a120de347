#include "core/model/zoo/zoo.h"

#include <cctype>

#include "core/base/error.h"
#include "core/base/nearest.h"
#include "core/model/zoo/zoo_tables.h"

namespace trainyard {
namespace {

// Names are equal if their letters and digits are: "llama-3-70b", "llama3-70b" and "Llama 3 70B"
// are one name.
std::string normal_form(std::string_view name) {
  std::string text;
  for (char c : name)
    if (std::isalnum(static_cast<unsigned char>(c)))
      text += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

struct Alias {
  std::string_view spelling, name;
};
constexpr Alias kAliases[] = {
    {"mistral-7b-v0.1", "mistral-7b"},
    {"wrn-28-2", "wideresnet-28-2"},
    {"wrn-28-10", "wideresnet-28-10"},
    {"gpt2-small", "gpt2"},
    {"dlrm-mlperf", "dlrm-criteo1tb-mlperf"},
    {"gpt3", "gpt3-175b"},
    {"gpt-1t", "megatron-1008b"},
    {"llama-3-405b", "llama-3.1-405b"},
    {"vit-base", "vit-b16"},
    {"qwen3-next-80b", "qwen3-next-80b-a3b"},
};

}  // namespace

std::span<const ZooEntry> zoo() {
  static const std::vector<ZooEntry> entries = [] {
    std::vector<ZooEntry> list;
    append_transformers(list);
    append_recent_transformers(list);
    append_vision(list);
    append_networks(list);
    return list;
  }();
  return entries;
}

const ZooEntry* find_in_zoo(std::string_view name) {
  std::string wanted = normal_form(name);
  for (const Alias& alias : kAliases)
    if (normal_form(alias.spelling) == wanted) wanted = normal_form(alias.name);
  for (const ZooEntry& entry : zoo())
    if (normal_form(entry.name) == wanted) return &entry;
  return nullptr;
}

Model zoo_model(std::string_view name) {
  if (const ZooEntry* entry = find_in_zoo(name)) return entry->build(*entry);
  std::vector<std::string_view> names;
  for (const ZooEntry& entry : zoo()) names.push_back(entry.name);
  throw Error(Error::Kind::InvalidInput, "expected the name of a model in the zoo, found \"" +
                                             std::string(name.substr(0, 60)) + "\"" +
                                             did_you_mean(name, names));
}

}  // namespace trainyard

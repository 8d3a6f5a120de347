#include "core/training/random_sources.h"

#include <fmt/format.h>

#include "core/base/nearest.h"

namespace trainyard {
namespace {

struct NamedSource {
  std::string_view name, words;
};
constexpr std::array<NamedSource, kRandomSources> kNamed = {
    {{"order", "order of samples"},
     {"weights", "initial weights"},
     {"dropout", "dropout"},
     {"augmentation", "augmentation of samples"},
     {"rounding", "stochastic rounding"},
     {"split", "split into training and evaluation samples"},
     {"noise", "numerical noise"}}};

}  // namespace

std::string_view to_string(RandomSource source) {
  return kNamed[static_cast<std::size_t>(source)].name;
}

std::string_view random_source_words(RandomSource source) {
  return kNamed[static_cast<std::size_t>(source)].words;
}

RandomSource read_random_source(std::string_view text, const Place& place) {
  std::array<std::string_view, kRandomSources> names;
  for (std::size_t i = 0; i < kRandomSources; ++i) {
    names[i] = kNamed[i].name;
    if (names[i] == text) return static_cast<RandomSource>(i);
  }
  throw Error(Error::Kind::InvalidInput,
              fmt::format("expected {}, found \"{}\"{}", fmt::join(names, ", "), text.substr(0, 80),
                          did_you_mean(text.substr(0, 80), names)),
              place);
}

}  // namespace trainyard

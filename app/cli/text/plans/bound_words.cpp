#include "app/cli/text/plans/bound_words.h"

#include <fmt/format.h>

#include <string>

#include "app/workspace/scenario/refuse_flag.h"

namespace trainyard {

std::vector<Bound> bounds_of(const Words& words) {
  std::vector<Bound> bounds;
  for (const std::string& word : words.texts("bound")) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == word.size())
      refuse_flag("bound",
                  fmt::format("expected KEY=VALUES as tp=1..8, found \"{}\"", word.substr(0, 80)));
    bounds.push_back({word.substr(0, equals), word.substr(equals + 1)});
  }
  return bounds;
}

}  // namespace trainyard

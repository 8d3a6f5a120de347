// NLPSequenceRatio: texts of which much is one special token, such as padding or an unknown word.
#include <fmt/format.h>

#include "core/base/units_text.h"
#include "core/rules/catalogue.h"

namespace trainyard {
namespace {

void find_special(const Params& params, const RunShown& shown, FiredRules& fired) {
  const std::int64_t token = params.integer("token");
  std::int64_t all = 0;
  for (const auto& [id, count] : shown.now().tokens) all += count;
  const auto found = shown.now().tokens.find(token);
  if (found == shown.now().tokens.end()) return;
  const double share = static_cast<double>(found->second) / static_cast<double>(all),
               limit = params.number("ratio");
  if (100 * share > limit)
    fired.push_back(fired_for(shown, fmt::format("token {}", token), 100 * share, limit,
                              fmt::format("{} of {} tokens are token {}, more than {:g} %",
                                          readable_share(share), all, token, limit)));
}

}  // namespace

const Rule& nlp_sequence_ratio() {
  static const Rule made = {
      .name = "nlp-sequence-ratio",
      .summary = "a special token, as that of padding, takes much of the texts",
      .advice =
          "documents packed into samples (packing=packed) or sorted by length, and a vocabulary "
          "that knows the words",
      .reads = RuleReads::Tokens,
      .by_name = true,
      .params = {{"token", std::int64_t{0}, "number of the token in the vocabulary", 0, 1e9},
                 {"ratio", 50.0, "most share of the tokens of a step, in %", 0, 100}},
      .of_run = find_special};
  return made;
}

}  // namespace trainyard

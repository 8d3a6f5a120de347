#include "app/workspace/runs/halp_words.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/number_text.h"
#include "core/base/split_list.h"

namespace trainyard {

std::vector<int> halp_bits(const std::string& list, const Place& place) {
  std::vector<int> found;
  const auto wrong = [&](const std::string& problem) {
    return Error(Error::Kind::InvalidInput,
                 fmt::format("expected whole numbers from 2 to 16 with commas between them, {} "
                             "\"{}\"",
                             problem, list.substr(0, 80)),
                 place);
  };
  for (const std::string_view word : split_list(list)) {
    const auto bits = number_of<int>(word);
    if (!bits || *bits < 2 || *bits > 16) throw wrong("found");
    if (std::find(found.begin(), found.end(), *bits) != found.end())
      throw wrong(fmt::format("each once, found {} twice in", *bits));
    found.push_back(*bits);
  }
  if (found.empty()) throw wrong("found");
  return found;
}

std::string halp_bits_text(const std::vector<int>& bits) {
  return fmt::format("{}", fmt::join(bits, ","));
}

std::int64_t usual_halp_samples(std::int64_t weights) {
  return std::max(HalpQuestion{}.samples, 2 * weights);
}

std::string halp_command(const HalpQuestion& q) {
  const HalpQuestion usual;
  std::string command = "trainyard halp";
  if (q.bits != usual.bits) command += " --bits " + halp_bits_text(q.bits);
  if (q.mu != usual.mu) command += fmt::format(" --mu {}", q.mu);
  if (q.rate != usual.rate) command += fmt::format(" --rate {}", q.rate);
  if (q.weights != usual.weights) command += fmt::format(" --weights {}", q.weights);
  if (q.samples != usual_halp_samples(q.weights))
    command += fmt::format(" --samples {}", q.samples);
  if (q.inner != usual.inner) command += fmt::format(" --inner {}", q.inner);
  if (q.rounds != usual.rounds) command += fmt::format(" --rounds {}", q.rounds);
  if (q.seed != usual.seed) command += fmt::format(" --seed {}", q.seed);
  return command;
}

}  // namespace trainyard

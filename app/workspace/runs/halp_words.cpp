#include "app/workspace/runs/halp_words.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/number_text.h"

namespace trainyard {

std::vector<int> halp_bits(const std::string& list, const Place& place) {
  std::vector<int> found;
  for (std::size_t from = 0; from <= list.size();) {
    const std::size_t comma = std::min(list.find(',', from), list.size());
    const auto bits = number_of<int>(list.substr(from, comma - from));
    if (!bits || *bits < 2 || *bits > 16)
      throw Error(Error::Kind::InvalidInput,
                  fmt::format("expected whole numbers from 2 to 16 with commas between them, found "
                              "\"{}\"",
                              list),
                  place);
    found.push_back(*bits);
    from = comma + 1;
  }
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

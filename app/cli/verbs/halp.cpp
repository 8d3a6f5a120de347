// halp: what the bits of HALP's offsets do to its error, on least squares.
#include <fmt/format.h>

#include "app/cli/interrupt.h"
#include "app/cli/pictures/picture_files.h"
#include "app/cli/status_line.h"
#include "app/cli/text/plans/scenario_words.h"
#include "app/cli/text/runs/halp_text.h"
#include "app/cli/verb.h"
#include "app/workspace/runs/halp_document.h"
#include "app/workspace/runs/halp_words.h"
#include "visualizers/descent/halp_view.h"

namespace trainyard {
namespace {

int run_halp(const Words& words, Streams& streams) {
  theme_of(words);  // refused before anything is computed
  HalpQuestion q;
  if (words.has("bits")) q.bits = halp_bits(words.text("bits"), {"--bits"});
  q.mu = words.number("mu", kLeastHalpNumber, kMostHalpMu, q.mu);
  q.rate = words.number("rate", kLeastHalpNumber, kMostHalpRate, q.rate);
  q.weights = words.integer("weights", 1, kMostHalpWeights, q.weights);
  q.samples =
      words.integer("samples", q.weights + 1, kMostHalpSamples, usual_halp_samples(q.weights));
  q.inner = words.integer("inner", 1, kMostHalpSteps, q.inner);
  q.rounds = words.integer("rounds", 1, kMostHalpRounds, q.rounds);
  q.seed = static_cast<std::uint64_t>(
      words.integer("seed", 0, kMostHalpSeed, static_cast<std::int64_t>(q.seed)));
  const InterruptStop interrupt;
  q.stop = interrupt.token();
  StatusLine status(words, streams);
  q.progress = [&](double share) {
    if (status.is_due()) status.show(fmt::format("descending {:3.0f} %", 100 * share));
  };
  const HalpStudy found = study_halp(q);
  status.clear();
  write_table_and_picture(halp_table(found), [&] { return halp_picture(found); }, words, streams);
  deliver(words.has("json") ? halp_document(found) : halp_text(found), words, streams);
  return kDone;
}

}  // namespace

Verb halp_verb() {
  std::vector<Flag> flags = {
      {"bits", "LIST", "bits of an offset, 2 to 16 (default 2,3,4,5,6,8,12)"},
      {"mu", "M", "strong convexity that the grid assumes (default 0.8)"},
      {"rate", "R", "learning rate (default 0.01)"},
      {"samples", "N", "samples of the problem (default 1000)"},
      {"weights", "N", "its weights (default 10)"},
      {"inner", "N", "steps between two full gradients (default 1500)"},
      {"rounds", "N", "full gradients (default 14)"},
      {"seed", "N", "of samples, draws and roundings (default 1)"},
      {"json", "", "one trainyard/halp@1 document and nothing else"},
      {"out", "FILE", "writes there instead of standard output"},
      {"quiet", "", "no diagnostics"}};
  for (Flag& flag : table_and_picture_flags("a row for each round of each number of bits",
                                            "draws errors by bits, and the grid by round"))
    flags.push_back(std::move(flag));
  return {.name = "halp",
          .summary =
              "What the bits of HALP's offsets do to its error, and how its grid shrinks, on least "
              "squares.",
          .flags = std::move(flags),
          .examples = {"halp", "halp --bits 4,8 --mu 0.5 --rounds 6"},
          .run = run_halp};
}

}  // namespace trainyard

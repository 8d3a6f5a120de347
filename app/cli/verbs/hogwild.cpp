// hogwild: measures on this machine what threads gain that share weights without locks.
#include <fmt/format.h>

#include "app/cli/interrupt.h"
#include "app/cli/status_line.h"
#include "app/cli/text/plans/scenario_words.h"
#include "app/cli/text/runs/hogwild_text.h"
#include "app/cli/verb.h"
#include "backends/cpu/hogwild/measure_hogwild.h"

namespace trainyard {
namespace {

constexpr std::int64_t kMostSamples = 10'000'000, kMostFeatures = 100'000'000, kMostThreads = 256,
                       kMostTouched = 1'000'000'000;  // features of all samples

int run_hogwild(const Words& words, Streams& streams) {
  HogwildQuestion q;
  q.threads = static_cast<int>(words.integer("threads", 1, kMostThreads, q.threads));
  q.features = words.integer("features", 1, kMostFeatures, q.features);
  q.nonzeros = words.integer("nonzeros", 1, std::min<std::int64_t>(q.features, 10'000),
                             std::min(q.features, q.nonzeros));
  q.samples =
      words.integer("samples", 100, std::min(kMostSamples, kMostTouched / q.nonzeros), q.samples);
  q.dense = words.integer("dense", 1, 10'000, q.dense);
  q.epochs = static_cast<int>(words.integer("epochs", 1, 1000, q.epochs));
  q.rounds = static_cast<int>(words.integer("rounds", 1, 100, q.rounds));
  q.rate = words.number("rate", 1e-6, 100, q.rate);
  q.seed = static_cast<std::uint64_t>(
      words.integer("seed", 0, 1'000'000'000, static_cast<std::int64_t>(q.seed)));
  const InterruptStop interrupt;
  q.stop = interrupt.token();
  StatusLine status(words, streams);
  q.progress = [&](double share) {
    if (status.is_due()) status.show(fmt::format("measuring {:3.0f} %", 100 * share));
  };
  const HogwildStudy found = measure_hogwild(q);
  status.clear();
  deliver(words.has("json") ? hogwild_document(found) : hogwild_text(found), words, streams);
  return kDone;
}

}  // namespace

Verb hogwild_verb() {
  return {.name = "hogwild",
          .summary =
              "Measures on this machine what threads gain that share weights without locks, and "
              "at which loss.",
          .flags = {{"threads", "N", "the most threads, 1 to 256 (default 4); 2, 4, 8 ... too"},
                    {"samples", "N", "sparse samples (default 200000); a tenth as many dense ones"},
                    {"features", "N", "features of the sparse problem (default 4000000)"},
                    {"nonzeros", "N", "features that a sparse sample has (default 20)"},
                    {"dense", "N", "features of the dense problem (default 256)"},
                    {"epochs", "N", "passes over the samples (default 3)"},
                    {"rounds", "N", "measurements of each row (default 3)"},
                    {"rate", "R", "learning rate (default 0.5)"},
                    {"seed", "N", "of samples and of their order (default 1)"},
                    {"json", "", "one trainyard/hogwild@1 document and nothing else"},
                    {"out", "FILE", "writes there instead of standard output"},
                    {"quiet", "", "no diagnostics"}},
          .examples = {"hogwild", "hogwild --threads 2 --features 1000 --nonzeros 30"},
          .run = run_hogwild};
}

}  // namespace trainyard

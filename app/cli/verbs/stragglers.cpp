// stragglers: shows how long replicas wait for the slowest when they meet in every step, once in
// several, or never, and how old gradients are then.
#include <algorithm>

#include "app/cli/text/clusters/straggling_text.h"
#include "app/cli/text/plans/scenario_words.h"
#include "app/cli/verb.h"
#include "core/base/error.h"

namespace trainyard {
namespace {

constexpr std::int64_t kMostArrivals = 10'000'000, kMostReplayed = 10'000;
// Fewer arrivals of a replica say little of their mean.
constexpr std::int64_t kOfEach = 20;

int run_stragglers(const Words& words, Streams& streams) {
  StragglingQuestion question;
  question.replicas = words.integer("replicas", 2, kMostReplayed, question.replicas);
  question.sigma = words.number("sigma", 0, kMostSpread, question.sigma);
  question.period = words.integer("period", 1, 1'000'000'000, question.period);
  question.arrivals = words.integer("arrivals", kOfEach * question.replicas, kMostArrivals,
                                    std::max(question.arrivals, kOfEach * question.replicas));
  question.seed = static_cast<std::uint64_t>(
      words.integer("seed", 0, 1'000'000'000, static_cast<std::int64_t>(question.seed)));
  question.lasting = words.number("lasting", 0, kMostSpread, question.lasting);
  question.throttled = words.number("throttled", 1, kMostThrottled, question.throttled);
  question.exchange = words.number("exchange", 0, kMostThrottled, question.exchange);
  question.slow_link = words.number("slow-link", 1, kMostThrottled, question.slow_link);
  if (words.has("slow-link") && !words.has("exchange"))
    throw Error(Error::Kind::InvalidInput,
                "expected --exchange beside it, the time that the slow link makes longer",
                {"--slow-link"});
  const StragglingAnswer found = straggling_answer(question);
  deliver(words.has("json") ? straggling_document(found) : straggling_text(found), words, streams);
  return kDone;
}

}  // namespace

Verb stragglers_verb() {
  return {
      .name = "stragglers",
      .summary =
          "Waiting for the slowest replica in every step, once in several or never, and how stale "
          "gradients are then.",
      .flags = {{"replicas", "P", "number of replicas, 2 to 10000 (default 64)"},
                {"sigma", "S",
                 "spread of the logarithm of a replica's step time, 0 to 1.5 (default 0.3)"},
                {"lasting", "S",
                 "spread of the logarithm of a device's own slowness, which lasts, 0 to 1.5 "
                 "(default 0)"},
                {"throttled", "X",
                 "one replica takes X times as long as the others, 1 to 1000 (default 1)"},
                {"exchange", "E", "what a meeting exchanges, in medians of a step (default 0)"},
                {"slow-link", "X",
                 "one link makes that exchange X times as long, 1 to 1000 (default 1)"},
                {"period", "H", "steps from one meeting to the next, as sync.period (default 10)"},
                {"arrivals", "N",
                 "gradients that a server takes in the replay, at least 20 of a replica (default "
                 "20000, or 20 "
                 "of each)"},
                {"seed", "N", "of the drawn times (default 1)"},
                {"json", "", "one trainyard/stragglers@1 document and nothing else"},
                {"out", "FILE", "writes there instead of standard output"},
                {"quiet", "", "no diagnostics"}},
      .examples = {"stragglers", "stragglers --replicas 8 --sigma 0.1 --period 4",
                   "stragglers --lasting 0.1 --throttled 1.5 --exchange 0.2 --slow-link 4"},
      .run = run_stragglers};
}

}  // namespace trainyard

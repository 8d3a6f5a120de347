#include "app/cli/text/rule_text.h"

#include <algorithm>
#include <string_view>

#include "app/workspace/runs/run_scores.h"
#include "core/base/error.h"

namespace trainyard {
namespace {

// The losses of the run with which the rules compare; empty where none of them does.
std::vector<double> earlier_losses(const RuleSet& rules) {
  for (const ChosenRule& chosen : rules) {
    if (chosen.rule != &similar_across_runs()) continue;
    const std::int64_t run = chosen.params.integer("run");
    if (run == 0)
      throw Error(Error::Kind::InvalidInput,
                  "expected similar-across-runs.run=N, the number of a run that \"trainyard runs\" "
                  "lists, found similar-across-runs without it",
                  {"--rules"});
    return losses_of(RunStore(run_store_path()).get(run));
  }
  return {};
}

}  // namespace

std::optional<RuleWatch> rule_watch(const Words& words) {
  for (const char* flag : {"rule-interval", "on-rule"})
    if (words.has(flag) && !words.has("rules"))
      throw Error(Error::Kind::InvalidInput, "expected --rules beside it, found none",
                  {"--" + std::string(flag)});
  if (!words.has("rules")) return std::nullopt;
  RuleWatch watch;
  watch.rules = parse_rules(words.text("rules"));
  watch.interval = words.integer("rule-interval", 1, 1'000'000'000, kRuleInterval);
  watch.earlier = earlier_losses(watch.rules);
  watch.stops = words.choice("on-rule", {"report", "stop"}, "report") == "stop";
  return watch;
}

// The places of one rule follow each other, and what to try is said once.
void write_fired(Out& out, const std::vector<FiredRule>& fired) {
  constexpr std::size_t kMostPlaces = 3;
  std::vector<std::string_view> told;
  for (const FiredRule& first : fired) {
    if (std::find(told.begin(), told.end(), first.rule) != told.end()) continue;
    told.push_back(first.rule);
    std::size_t places = 0;
    for (const FiredRule& one : fired) {
      if (one.rule != first.rule) continue;
      if (places < kMostPlaces) line(out, "  {}: {}", one.rule, one.sentence);
      ++places;
    }
    if (places > kMostPlaces)
      line(out, "    and at {} places more; --json has them all", places - kMostPlaces);
    line(out, "    try {}", first.advice);
  }
}

void write_rules(Out& out, const RuleReport& r) {
  line(out, "rules         {} fired{}", r.fired.empty() ? "none" : std::to_string(r.fired.size()),
       r.stopped_at > 0 ? ", and ended the run " + stop_sentence(r) : "");
  write_fired(out, r.fired);
  for (const LeftOutRules& one : r.left_out) line(out, "  left out {}", sentence(one));
}

}  // namespace trainyard

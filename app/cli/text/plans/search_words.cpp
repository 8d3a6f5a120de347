#include "app/cli/text/plans/search_words.h"

#include <fmt/format.h>

#include "core/base/units_text.h"

namespace trainyard {

std::vector<Flag> search_flags() {
  return {{"objective", "WHAT", "time (the default), memory or money"},
          {"spare", "BYTES", "to be left over on every device, as 4GiB"},
          {"simulate", "N", "simulates so many of the list, and ranks by that (default 8)"},
          {"threads", "N", "at once (default: one a core)"}};
}

SearchOptions search_options(const Words& words) {
  SearchOptions options;
  const std::string by = words.choice("objective", {"time", "memory", "money"}, "time");
  options.objective = by == "time"     ? PlanObjective::Time
                      : by == "memory" ? PlanObjective::Memory
                                       : PlanObjective::Money;
  options.top = static_cast<std::size_t>(kListed);
  options.threads = static_cast<int>(words.integer("threads", 0, 4096, 0));
  options.simulate = static_cast<std::size_t>(words.integer("simulate", 0, 1000, 8));
  if (words.has("spare")) options.spare = parse_bytes(words.text("spare"), {"--spare"});
  return options;
}

std::string progress_text(const SearchProgress& now) {
  std::string text = fmt::format("tried {}", now.tried);
  if (now.total > 0) text += fmt::format(" of {}", now.total);
  text += fmt::format("  fitting {}", now.fitting);
  if (!now.front.empty())
    text += fmt::format("  best so far {}  front {}", readable_step(now.front.front().step),
                        now.front.size());
  if (now.simulating) text += "  simulating the best";
  return text;
}

}  // namespace trainyard

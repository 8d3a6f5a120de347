// Random legal plans of several kinds of models and clusters, by seed.
#pragma once

#include <string>
#include <vector>

#include "app/workspace/scenario/setting_words.h"
#include "app/workspace/scenario/workspace.h"
#include "core/base/random.h"
#include "core/estimate/assumptions.h"
#include "tests/support/cases.h"

namespace trainyard::testing {

inline CostOf costs() {
  return [](const Scenario& s) { return std::shared_ptr<const CostModel>(cost_model(s)); };
}

/// Draws until a plan is legal; some thirty in a hundred draws are.
inline Scenario random_plan(std::uint64_t seed) {
  const Random random(seed);
  for (std::uint64_t draw = 0;; ++draw) {
    std::uint64_t index = 100 * draw;
    const auto one_of = [&](const std::vector<std::string>& words) {
      return words[random.bits(index++) % words.size()];
    };
    Request request;
    request.model = one_of({"llama-3-8b", "gpt3-13b", "mixtral-8x7b", "gpt-tiny", "resnet-20"});
    request.cluster = one_of({"h100-sxm:64", "a100-sxm-80:16", "h100-sxm:8", "b200-hgx:32"});
    request.settings = {"tp=" + one_of({"1", "2", "4"}),
                        "pp=" + one_of({"1", "1", "2", "4"}),
                        "cp=" + one_of({"1", "1", "1", "2"}),
                        "micro-batch=" + one_of({"1", "2"}),
                        "global-batch=" + one_of({"64", "128", "256"}),
                        "zero=" + one_of({"0", "1", "2", "3"}),
                        "recompute=" + one_of({"none", "full", "selective", "op"}),
                        "flash-attention=" + one_of({"on", "off"}),
                        "schedule=" + one_of({"1f1b", "1f1b", "gpipe", "zb-h1", "pipedream-2bw"}),
                        "context-parallel.kind=" + one_of({"ring", "ring", "ulysses"})};
    try {
      Scenario scenario = open(request);
      if (!has_errors(check(scenario))) return scenario;
    } catch (const Error&) {
      continue;  // a setting that this model or device refuses
    }
  }
}

}  // namespace trainyard::testing

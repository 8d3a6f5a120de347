// Mixes of policies within a limit: each of some layers takes one of the policies of its kind, the
// bytes of all stay within the limit, and the time of all is least.
#pragma once

#include <cstdint>
#include <stop_token>
#include <vector>

namespace trainyard {

struct MixPolicy {
  std::int64_t bytes = 0, time = 0;  // of one layer
};
/// Layers alike.
struct MixGroup {
  int layers = 0;
  std::vector<MixPolicy> policies;  // at least one
};

struct Mix {
  std::vector<std::vector<int>> counts;  // by group and policy; empty where nothing fits
  std::int64_t bytes = 0, time = 0;
  double bound = 0;   // of the linear program, where layers may be divided
  bool exact = true;  // false: so many mixes were undecided that some were left out
};
/// Throws Error{Cancelled} when stopped.
Mix best_mix(const std::vector<MixGroup>&, std::int64_t limit, const std::stop_token& = {});

}  // namespace trainyard

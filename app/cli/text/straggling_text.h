// This file prints `trainyard stragglers`: how long replicas wait for the slowest when they meet in
// every step, once in several or never, and how old the gradients of an asynchronous server are.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/estimate/straggling.h"
#include "core/io/json/json.h"

namespace trainyard {

struct StragglingQuestion {
  std::int64_t replicas = 64, period = 10, arrivals = 20'000;
  double sigma = 0.3;
  std::uint64_t seed = 1;
};

/// Times in medians a step.
struct StragglingRow {
  std::int64_t replicas = 0;
  double slowest = 0, gumbel = 0, of_period = 0, mean = 0;
};
struct StragglingAnswer {
  StragglingQuestion question;
  std::vector<StragglingRow> rows;  // by rising number of replicas, the question's among them
  ServerStaleness staleness;        // of its number
};
StragglingAnswer straggling_answer(const StragglingQuestion&);

std::string straggling_text(const StragglingAnswer&);
Json stragglers_schema();
std::string straggling_document(const StragglingAnswer&);

}  // namespace trainyard

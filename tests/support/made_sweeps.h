// Sweeps whose figures are formulas of the combination.
#pragma once

#include <fmt/format.h>

#include "core/estimate/sweep.h"
#include "tests/support/scaling_studies.h"

namespace trainyard::testing {

/// A plan whose step is that many seconds, with a fullest device of that many GiB of 80.
inline SweepRow made_row(double step, double gib) {
  SweepRow row;
  row.set = {"tp=2", "global-batch=64"};
  row.plan = "tp=2";
  Result r = made_result(made_scenario(), {.work = step / 8, .band = 0.1});
  r.fidelity = "estimate";
  r.capacity = 80_GiB;
  r.verdict.limit = "Limited by bubble: 20.0 % of device time";
  const auto bytes = [](double of) { return Bytes{static_cast<std::int64_t>(of * 0x1p30)}; };
  StageMemory memory;
  memory.peak = {bytes(gib), bytes(0.9 * gib), bytes(1.1 * gib), "made"};
  r.memory = {memory};
  r.verdict.margin = r.capacity - memory.peak.value;
  r.verdict.fits = r.verdict.margin >= Bytes{};
  r.verdict.word = memory.peak.low > r.capacity    ? FitWord::DoesNotFit
                   : memory.peak.high > r.capacity ? FitWord::MayNotFit
                                                   : FitWord::Fits;
  row.fit = r.verdict.word;
  row.reason = std::string(to_string(*row.fit)) + " by a formula";
  row.result = std::move(r);
  return row;
}

/// Rows are slower and larger the later they come. Every seventh has no plan.
inline SweepStudy made_sweep(std::vector<SweepAxis> axes) {
  SweepStudy study;
  study.axes = std::move(axes);
  for (std::size_t i = 0; i < combinations(study.axes); ++i) {
    const auto n = static_cast<double>(i);
    study.rows.push_back(made_row(1 + n / 3, 40 + 4 * n));
    if (i % 7 != 6) continue;
    study.rows.back() = {};
    study.rows.back().reason = fmt::format("combination {} divides nothing", i);
  }
  return study;
}

inline SweepStudy made_bars() {
  return made_sweep({{"model", {"gpt2"}},
                     {"cluster", {"h100-sxm:8"}},
                     {"micro-batch",
                      {"1", "2", "4", "8", "16", "32", "64", "128", "256", "512", "1024", "2048",
                       "4096", "8192"}}});
}
inline SweepStudy made_maps() {
  return made_sweep({{"model", {"gpt2", "llama-3-8b"}},
                     {"cluster", {"h100-sxm:8", "a100-sxm-80:8", "b200-hgx:8"}},
                     {"seq", {"1024", "2048", "4096", "8192"}}});
}

}  // namespace trainyard::testing

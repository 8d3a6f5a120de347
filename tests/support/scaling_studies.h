// Studies of scaling whose step is a formula: work that devices share, and a part that they do not.
#pragma once

#include "core/estimate/scaling.h"
#include "core/methods/settings/settings.h"
#include "core/model/zoo/zoo.h"

namespace trainyard::testing {

struct MadeStep {
  double work = 0.064;    // seconds of a sample on one device
  double serial = 0;      // seconds of each step, on any number of devices
  double band = 0;        // share of the step, both ways
  std::int64_t most = 0;  // more devices do not fit; 0 = any number does
};

/// As a result with the figures that a study reads: step, work, MFU, verdict and money at 2 dollars
/// an hour of a device.
inline Result made_result(const Scenario& s, const MadeStep& made) {
  Result r;
  r.plan = complete(s);
  r.devices = s.cluster.count;
  const auto samples = static_cast<double>(s.plan.batch.global);
  r.samples_per_step = samples;
  r.tokens_per_step = samples * 1000;
  const double devices = static_cast<double>(s.cluster.count);
  const double step = made.work * samples / devices + made.serial;
  r.step = {seconds(step), seconds(step * (1 - made.band)), seconds(step * (1 + made.band)),
            "made"};
  r.mfu = 0.5 * made.work * samples / devices / step;
  r.money = Banded<double>{devices * step / 1800, devices * step * (1 - made.band) / 1800,
                           devices * step * (1 + made.band) / 1800, "made"};
  r.verdict.fits = made.most == 0 || s.cluster.count <= made.most;
  r.verdict.margin = r.verdict.fits ? 8_GiB : -(2_GiB);
  r.verdict.sentence = r.verdict.fits ? "Fits: 8 GiB spare" : "Does not fit: 2 GiB over";
  return r;
}

/// A plan of 8 devices with a global batch of 64, where micro-batch=1 and tp=2.
inline Scenario made_scenario() {
  Scenario s{zoo_model("gpt2"), parse_cluster("h100-sxm:8"), {}};
  for (const char* word : {"tp=2", "micro-batch=1", "global-batch=64"}) apply_setting(s.plan, word);
  return s;
}

inline ScalingStudy made_study(const MadeStep& made, std::vector<std::int64_t> devices = {}) {
  return scaling(made_scenario(), {std::move(devices), false},
                 [&](const Scenario& s) { return made_result(s, made); });
}

}  // namespace trainyard::testing

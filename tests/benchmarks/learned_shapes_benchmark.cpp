// Learned prices of kernels on this machine: measures random networks, or reads a calibration that
// did, and holds what trees say of shapes that they did not see against the measurements, beside
// the formula and the interpolation, over all kernels and over matrix products and convolutions
// from 20 us on (shorter ones depend on what ran before them). Exits 1 where the learned prices of
// these are off by more than 8 % in the mean, agree with the measured order by less than 0.95
// (Kendall's tau), are not three times nearer than the formula, or take more than 10 us each.
//
//   learned_shapes_benchmark [CALIBRATION.json]
#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "app/workspace/runs/machine_calibration.h"
#include "backends/cpu/calibration/calibrate.h"
#include "core/cost/kernels/learned_kernels.h"
#include "core/io/bytes/files.h"
#include "core/io/documents/calibration_json.h"

namespace trainyard {
namespace {

constexpr int kNetworks = 150;

struct Agreement {
  std::size_t points = 0;
  double mean = 0, tau = 0;
};

Agreement agreement(const std::vector<double>& measured, const std::vector<double>& predicted) {
  Agreement found{measured.size(), 0, 0};
  double pairs = 0, order = 0;
  for (std::size_t i = 0; i < measured.size(); ++i) {
    found.mean += std::abs(predicted[i] / measured[i] - 1) / static_cast<double>(measured.size());
    for (std::size_t j = 0; j < i; ++j) {
      const double both = (measured[i] - measured[j]) * (predicted[i] - predicted[j]);
      if (both == 0) continue;
      pairs += 1;
      order += both > 0 ? 1 : -1;
    }
  }
  found.tau = order / std::max(1.0, pairs);
  return found;
}

int run(const Calibration& c) {
  const KernelResiduals found = machine_residuals(c);
  const auto compare = [&](const char* what, const std::function<bool(const KernelTiming&)>& of) {
    std::vector<double> measured, formula, interpolated, learned;
    for (const KernelResidual& one : found.kernels) {
      if (!one.held_out || !one.learned || !of(c.kernels[one.kernel])) continue;
      measured.push_back(to_seconds(one.measured));
      formula.push_back(to_seconds(one.before));
      interpolated.push_back(to_seconds(*one.held_out));
      learned.push_back(to_seconds(*one.learned));
    }
    const Agreement by[] = {agreement(measured, formula), agreement(measured, interpolated),
                            agreement(measured, learned)};
    for (int i = 0; i < 3; ++i) {
      const char* const names[] = {"formula", "calibrated", "learned"};
      fmt::print("{:34} {:12} off by {:5.1f} % in the mean, tau {:.3f}, of {} shapes\n",
                 i == 0 ? what : "", names[i], 100 * by[i].mean, by[i].tau, by[i].points);
    }
    return std::pair(by[0], by[2]);
  };
  compare("all kernels", [](const KernelTiming&) { return true; });
  compare("products and convolutions",
          [](const KernelTiming& t) { return t.work.kind == WorkKind::Product; });
  const auto [formula, learned] =
      compare("products and convolutions >= 20 us", [](const KernelTiming& t) {
        return t.work.kind == WorkKind::Product && t.time >= std::chrono::microseconds(20);
      });

  std::vector<Work> works;
  for (int again = 0; again < 50; ++again)
    for (const KernelTiming& t : c.kernels) works.push_back(t.work);
  const std::vector<double> prices(works.size(), 1e-6);
  const auto trees = learned_kernels(c, nullptr, device("cpu"));
  const auto start = std::chrono::steady_clock::now();
  trees->prices(works, prices);
  const double each =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() /
      static_cast<double>(works.size());
  fmt::print("a prediction takes {:.2f} us in a batch of {}\n", 1e6 * each, works.size());

  bool met = true;
  const auto bar = [&](const char* name, double value, const char* unit, double least,
                       double most) {
    const bool holds = value >= least && value <= most;
    fmt::print("{:28} {:6.2f}{}{}\n", name, value, unit, holds ? "" : ": missed");
    met = met && holds;
  };
  constexpr double kAny = 1e9;
  bar("mean error (at most 8 %)", 100 * learned.mean, " %", 0, 8);
  bar("tau (at least 0.95)", learned.tau, "", 0.95, 1);
  bar("formula over learned (3)", formula.mean / learned.mean, "", 3, kAny);
  bar("a prediction (10 us)", 1e6 * each, " us", 0, 10);
  return met ? 0 : 1;
}

}  // namespace
}  // namespace trainyard

int main(int count, char** words) {
  using namespace trainyard;
  if (count > 1) return run(read_calibration(read_file(words[1]), words[1]));
  return run(calibrate(random_workloads(kNetworks, 1), {.box = std::chrono::seconds(150)}));
}

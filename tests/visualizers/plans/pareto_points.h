// Makes plans for the Pareto view, by hand and at random.
#pragma once

#include <algorithm>
#include <random>

#include "visualizers/plans/pareto_model.h"

namespace trainyard::testing_pareto {

inline constexpr double kGib = 1024.0 * 1024 * 1024;

/// Sets fates by definition: plans that fit, plans that no other fitting plan beats in time and
/// memory, and the fastest.
inline void judge(ParetoModel& model) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < model.points.size(); ++i) {
    ParetoPoint& p = model.points[i];
    p.fate = p.memory > model.capacity ? ParetoFate::TooLarge : ParetoFate::Dominated;
    if (p.fate == ParetoFate::Dominated && !p.bound) order.push_back(i);
  }
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::pair(model.points[a].step, model.points[a].memory) <
           std::pair(model.points[b].step, model.points[b].memory);
  });
  double least = 1e300;
  for (const std::size_t i : order)
    if (model.points[i].memory < least) {
      least = model.points[i].memory;
      model.points[i].fate = i == order.front() ? ParetoFate::Best : ParetoFate::Front;
    }
  find_front(model);
}

/// Ten plans on devices of 80 GiB: three on the front, three that do not fit, two only bounded.
inline ParetoModel small() {
  ParetoModel model;
  model.families = {"1f1b, gpipe", "interleaved", "zero bubble", "no pipeline"};
  model.capacity = 80 * kGib;
  model.tokens = 1 << 20;
  const auto add = [&](double step, double gib, std::uint8_t family, bool bound = false) {
    const std::uint64_t id = 100 + model.points.size();
    model.points.push_back(
        {id, step, gib * kGib, step * 0.05, family, ParetoFate::Dominated, bound});
  };
  add(4.0, 79, 1);         // 0: best
  add(4.3, 52, 1);         // 1: front
  add(6.0, 30, 3);         // 2: front
  add(4.5, 60, 0);         // 3
  add(5.1, 66, 2);         // 4
  add(6.4, 71, 0, true);   // 5
  add(6.9, 44, 3, true);   // 6
  add(3.6, 95, 1);         // 7: too large
  add(3.9, 120, 2);        // 8
  add(5.0, 101, 0, true);  // 9
  judge(model);
  return model;
}

inline ParetoModel random(std::size_t count, std::uint32_t seed) {
  ParetoModel model = small();
  model.points.clear();
  std::mt19937 dice(seed);
  for (std::size_t i = 0; i < count; ++i) {
    const auto u = [&] { return static_cast<double>(dice() % 10007) / 10007; };
    const double lean = u(), step = 3 + 2 * lean + 4 * u(), gib = 20 + 60 * (1 - lean) + 60 * u();
    model.points.push_back({i, step, gib * kGib, step * 0.05, static_cast<std::uint8_t>(dice() % 4),
                            ParetoFate::Dominated, dice() % 3 == 0});
  }
  judge(model);
  return model;
}

}  // namespace trainyard::testing_pareto

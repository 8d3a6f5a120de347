// Hogwild: threads train one model whose weights they share, and none waits for another. A thread
// reads the weights that its sample needs, and writes them back changed, while others do the same.
//
//   thread 0   read w3 w9 ─── compute ─── write w3 w9      read w1 w4 ...
//   thread 1        read w2 w9 ─── compute ─── write w2 w9             w9 of thread 0 is lost
//
// Weights are read and written one by one as relaxed atomics, without an addition that would be
// one: of two that meet, one change may be lost. Where samples have few features this is seldom,
// and threads are as many times faster as they are; where samples have all features, every update
// meets every other, and the cores hand the same memory to and fro.
//
// Niu, Recht, Re and Wright, "Hogwild!: A Lock-Free Approach to Parallelizing Stochastic Gradient
// Descent", NeurIPS 2011.
#pragma once

#include <cstdint>
#include <span>
#include <stop_token>
#include <vector>

#include "backends/cpu/hogwild/logistic_regression.h"
#include "core/base/units.h"

namespace trainyard {

struct SharedTraining {
  Sharing how = Sharing::Hogwild;
  int threads = 1;
  int epochs = 1;
  float rate = 0.5f;
  std::uint64_t seed = 1;         // of the order of samples, which is another in each epoch
  bool counts_staleness = false;  // a counter that all threads share, which makes them slower
  std::stop_token stop = {};      // is asked between epochs
};

struct SharedRun {
  Duration time{};  // of the wall's clock, from the first update to the last, of all epochs
  std::int64_t updates = 0;
  // Updates by the number of others that ended between their first read and their last write; the
  // last number stands for itself and more. Empty where they are not counted.
  std::vector<std::int64_t> staleness;
};

/// Trains by gradient descent, a sample at a time. In each epoch, thread t of T takes samples t, T
/// + t, 2 T + t ... of the epoch's order. Weights must be samples.width long. Blocks; the weights
/// of one thread, and of threads whose samples have no feature in common, are the same in each run.
SharedRun train_shared(const SparseSamples&, std::span<float> weights, const SharedTraining&);

}  // namespace trainyard

// A HogwildStudy says whether threads pay that share weights without locks (Niu et al., "Hogwild!",
// NeurIPS 2011): on samples with few features, where updates seldom meet, and on samples with all
// features, where each meets every other. One thread alone is the measure of both, and threads that
// take turns under a lock stand beside them. backends/cpu/hogwild measures it.
#pragma once

#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard {

enum class Sharing : std::uint8_t {
  Alone,   // one thread, plain memory
  Locked,  // threads that take turns: one lock is held from the first read to the last write
  Hogwild  // threads without locks
};
std::string_view to_string(Sharing);  // "alone", "locked", "hogwild"

/// SharedSupport says how often updates touch the same weights.
struct SharedSupport {
  double most_frequent = 0;  // share of the samples that have the commonest feature
  double meet = 0;           // share of drawn pairs of samples that have a feature in common
};

struct HogwildQuestion {
  int threads = 4;  // the most; 2, 4, 8 ... below it are measured too
  // Weights that caches hold would travel from core to core with nearly every update.
  std::int64_t samples = 200'000, features = 4'000'000;
  std::int64_t nonzeros = 20;  // features of a sparse sample
  std::int64_t dense = 256;    // features of a dense sample, all of which it has
  int epochs = 3, rounds = 3;
  double rate = 0.5;
  std::uint64_t seed = 1;
  std::stop_token stop = {};
  std::function<void(double)> progress = {};  // share that is done, in [0, 1]
};

struct HogwildRow {
  bool dense = false;
  Sharing how = Sharing::Alone;
  int threads = 1;
  double updates_per_second = 0;  // median of the rounds
  double gain = 0;                // over one thread alone, which plain memory serves
  double loss = 0;                // after the last epoch, the worst of the rounds
  double loss_ratio = 0;          // to that of one thread alone
};

struct HogwildStudy {
  HogwildQuestion question;
  int cores = 1;  // that this machine has
  SharedSupport sparse, dense;
  std::vector<HogwildRow> rows;  // sparse ones first
  // Counted in a run of its own, on sparse samples and the most threads.
  std::vector<std::int64_t> staleness;
  double mean_staleness = 0;
};

/// The row of the most threads, or of the one alone. It must be there.
const HogwildRow& row_of(const HogwildStudy&, bool dense, Sharing);
/// Returns sentences that follow from the figures: what threads gain on both kinds of samples and
/// at which loss, how often updates meet, and how old they are.
std::vector<std::string> hogwild_sentences(const HogwildStudy&);

}  // namespace trainyard

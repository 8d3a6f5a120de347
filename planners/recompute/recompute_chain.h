// Recomputation on a chain of layers: which inputs and which whole tapes are kept, and what runs
// again, so that a training step takes the least time within a limit of memory. Exact for layers
// that all differ (rotor: Beaumont, Eyraud-Dubois, Herrmann, Joly, Shilova, "Optimal checkpointing
// for heterogeneous chains", 2019); beside it the counts and schedules that are published for equal
// layers.
//
// Layer i reads boundary i and makes boundary i + 1; to go back through it its input and its tape
// (what its forward keeps beside the input) must be there, and the gradient of boundary i + 1 turns
// into that of boundary i, as large as the boundary itself. The input of the chain is there when it
// begins; the output becomes its own gradient. What is kept stays until its layer's backward
// ("persistent": every published schedule is).
#pragma once

#include <cstdint>
#include <span>
#include <stop_token>
#include <vector>

#include "core/base/units.h"

namespace trainyard {

struct RecomputeLayerCost {
  Duration forward{}, backward{};
  Bytes input{};  // boundary before it
  Bytes tape{};   // what its backward reads beside the input
};
struct Chain {
  std::vector<RecomputeLayerCost> layers;
  Bytes output{};  // boundary after the last
};

enum class ChainStep : std::uint8_t {
  ForwardDrop,       // its input goes, unless it is kept already
  ForwardKeepInput,  // its input stays until its backward
  ForwardKeepAll,    // its input and its tape
  Backward,
};
struct ChainAction {
  ChainStep step = ChainStep::ForwardDrop;
  int layer = 0;
  friend bool operator==(const ChainAction&, const ChainAction&) = default;
};

/// What a list of actions costs, found by doing them one by one.
struct ChainRun {
  Duration time{};
  Bytes peak{};
  Bytes stored{};             // most that is kept at once: inputs and tapes, no gradients
  std::int64_t forwards = 0;  // run in all, those of the first time included
};
/// Throws Error{InvalidInput} naming the action that finds no input, tape or gradient, or what is
/// left undone.
ChainRun run_chain(const Chain&, std::span<const ChainAction>);

struct ChainSchedule {
  std::vector<ChainAction> actions;
  Duration time{};
  Bytes peak{};
};

struct ChainOptions {
  /// Bytes count in that many parts of the limit, rounded up; 0 = exactly. With sizes that share no
  /// large divisor an exact front grows with the limit.
  std::int64_t parts = 0;
  std::stop_token stop = {};
};
/// The quickest schedule within the limit. Throws Error{InvalidInput} where none is, saying what
/// the least needs, for an empty chain or a negative size; Error{Cancelled} when stopped.
ChainSchedule best_chain_schedule(const Chain&, Bytes limit, const ChainOptions& = {});

/// The whole trade up to a limit: each point needs more memory and takes less time than the one
/// before. Empty where nothing fits.
struct ChainPoint {
  Bytes peak{};
  Duration time{};
};
std::vector<ChainPoint> chain_front(const Chain&, Bytes limit, const ChainOptions& = {});

// --- equal layers ---

/// Chen et al. 2016: n layers in k segments hold k inputs and one segment: k + ceil(n / k) units.
/// Throws Error{InvalidInput} unless 1 <= k <= n.
std::int64_t chen_peak(std::int64_t layers, std::int64_t segments);
/// The number of segments that makes it least (sqrt n), the smallest where several do.
std::int64_t chen_segments(std::int64_t layers);
/// Keeps the input of each segment, all of the last; each other one runs forward again.
std::vector<ChainAction> chen_schedule(int layers, int segments);

/// Griewank, Walther 2000: layers that `checkpoints` reverse when none runs more than `repeats`
/// times before its own turn: C(checkpoints + repeats, checkpoints); the largest 64-bit number
/// where it is more.
std::int64_t revolve_reach(std::int64_t checkpoints, std::int64_t repeats);
/// Least forward steps beside the one at each layer's own turn: r n - C(s + r, s + 1), r the least
/// with revolve_reach(s, r) >= n. The chain's input takes one of the checkpoints. Throws
/// Error{InvalidInput} for less than one layer or checkpoint.
std::int64_t revolve_forwards(std::int64_t layers, std::int64_t checkpoints);
/// A schedule that takes so many.
std::vector<ChainAction> revolve_schedule(int layers, int checkpoints);

}  // namespace trainyard

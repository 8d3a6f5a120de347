// What a list of actions on a chain costs, by doing them; and the published lists for equal layers.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "core/base/error.h"
#include "planners/index.h"
#include "planners/recompute/recompute_chain.h"

namespace trainyard {
namespace {

class Walker {
 public:
  explicit Walker(const Chain& chain)
      : chain_(chain), n_(static_cast<int>(chain.layers.size())), input_(at(n_)), tape_(at(n_)) {}

  ChainRun run(std::span<const ChainAction> actions) {
    for (const ChainAction& action : actions) {
      if (action.layer < 0 || action.layer >= n_) refuse(action, "a layer of the chain");
      action.step == ChainStep::Backward ? backward(action) : forward(action);
      ++done_;
    }
    if (gradient_ != 0)
      throw Error(Error::Kind::InvalidInput,
                  fmt::format("expected a backward of every layer, found none of layer {}",
                              (gradient_ < 0 ? n_ : gradient_) - 1));
    return run_;
  }

 private:
  static constexpr int kNone = -1;

  [[noreturn]] void refuse(const ChainAction& action, std::string_view expected) const {
    throw Error(Error::Kind::InvalidInput,
                fmt::format("action {}, {} of layer {}: expected {}", done_,
                            action.step == ChainStep::Backward ? "backward" : "forward",
                            action.layer, expected));
  }

  std::int64_t boundary(int b) const {
    return (b < n_ ? chain_.layers[at(b)].input : chain_.output).value;
  }
  void note(std::int64_t more) {
    const std::int64_t waiting = gradient_ == kNone ? 0 : boundary(gradient_);
    run_.peak = std::max(run_.peak, Bytes{stored_ + more + waiting});
    run_.stored = std::max(run_.stored, Bytes{stored_});
  }

  void forward(const ChainAction& action) {
    const int l = action.layer;
    const RecomputeLayerCost& layer = chain_.layers[at(l)];
    if (!input_[at(l)] && passing_ != l) refuse(action, "its input");
    if (action.step != ChainStep::ForwardDrop && !input_[at(l)]) {
      input_[at(l)] = true;
      stored_ += layer.input.value;
    }
    if (action.step == ChainStep::ForwardKeepAll && !tape_[at(l)]) {
      tape_[at(l)] = true;
      stored_ += layer.tape.value;
    }
    note((input_[at(l)] ? 0 : layer.input.value) + boundary(l + 1));
    run_.time += layer.forward;
    ++run_.forwards;
    passing_ = l + 1;
    if (passing_ == n_ && gradient_ == kNone) gradient_ = n_, passing_ = kNone;
  }

  void backward(const ChainAction& action) {
    const int l = action.layer;
    const RecomputeLayerCost& layer = chain_.layers[at(l)];
    if (gradient_ != l + 1) refuse(action, "the gradient of its output");
    if (!input_[at(l)] || !tape_[at(l)]) refuse(action, "its input and its tape");
    passing_ = kNone;
    note(boundary(l));
    run_.time += layer.backward;
    stored_ -= layer.input.value + layer.tape.value;
    input_[at(l)] = tape_[at(l)] = false;
    gradient_ = l;
  }

  const Chain& chain_;
  int n_;
  std::vector<bool> input_, tape_;  // by layer: kept
  int passing_ = 0;                 // boundary that was made last and is not kept
  int gradient_ = kNone;
  std::int64_t stored_ = 0, done_ = 0;
  ChainRun run_;
};

void demand(bool legal, std::string_view expected) {
  if (!legal) throw Error(Error::Kind::InvalidInput, fmt::format("expected {}", expected));
}

void reverse(int first, int last, std::int64_t checkpoints, std::vector<ChainAction>& list) {
  if (first == last) {
    list.push_back({ChainStep::ForwardKeepAll, first});
    list.push_back({ChainStep::Backward, first});
    return;
  }
  int split = last;
  if (checkpoints > 1) {
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    for (int k = first + 1; k <= last; ++k) {
      const std::int64_t cost = k - first + revolve_forwards(last - k + 1, checkpoints - 1) +
                                revolve_forwards(k - first, checkpoints);
      if (cost < least) least = cost, split = k;
    }
  }
  list.push_back({ChainStep::ForwardKeepInput, first});
  for (int l = first + 1; l < split; ++l) list.push_back({ChainStep::ForwardDrop, l});
  reverse(split, last, checkpoints - 1, list);
  reverse(first, split - 1, checkpoints, list);
}

}  // namespace

ChainRun run_chain(const Chain& chain, std::span<const ChainAction> actions) {
  return Walker(chain).run(actions);
}

std::int64_t chen_peak(std::int64_t layers, std::int64_t segments) {
  demand(1 <= segments && segments <= layers, "1 to as many segments as layers");
  return segments + (layers + segments - 1) / segments;
}

std::int64_t chen_segments(std::int64_t layers) {
  demand(layers >= 1, "at least one layer");
  std::int64_t best = 1;
  for (std::int64_t k = 2; k <= layers && k < chen_peak(layers, best); ++k)
    if (chen_peak(layers, k) < chen_peak(layers, best)) best = k;
  return best;
}

std::vector<ChainAction> chen_schedule(int layers, int segments) {
  demand(1 <= segments && segments <= layers, "1 to as many segments as layers");
  const auto begin = [&](int segment) {
    return static_cast<int>(std::int64_t{layers} * segment / segments);
  };
  std::vector<ChainAction> list;
  for (int s = 0; s + 1 < segments; ++s)
    for (int l = begin(s); l < begin(s + 1); ++l)
      list.push_back({l == begin(s) ? ChainStep::ForwardKeepInput : ChainStep::ForwardDrop, l});
  for (int s = segments; s-- > 0;) {
    for (int l = begin(s); l < begin(s + 1); ++l) list.push_back({ChainStep::ForwardKeepAll, l});
    for (int l = begin(s + 1); l-- > begin(s);) list.push_back({ChainStep::Backward, l});
  }
  return list;
}

std::int64_t revolve_reach(std::int64_t checkpoints, std::int64_t repeats) {
  demand(checkpoints >= 0 && repeats >= 0, "counts of at least 0");
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  const std::int64_t few = std::min(checkpoints, repeats), all = checkpoints + repeats;
  std::int64_t reach = 1;
  for (std::int64_t i = 1; i <= few; ++i) {
    // reach * (all - few + i) is a multiple of i.
    __extension__ using Wide = __int128;
    const Wide next = static_cast<Wide>(reach) * (all - few + i) / i;
    if (next > kMost) return kMost;
    reach = static_cast<std::int64_t>(next);
  }
  return reach;
}

std::int64_t revolve_forwards(std::int64_t layers, std::int64_t checkpoints) {
  demand(layers >= 1, "at least one layer");
  demand(checkpoints >= 1, "at least one checkpoint");
  std::int64_t repeats = 0;
  while (revolve_reach(checkpoints, repeats) < layers) ++repeats;
  if (repeats == 0) return 0;
  return repeats * layers - revolve_reach(checkpoints + 1, repeats - 1);
}

std::vector<ChainAction> revolve_schedule(int layers, int checkpoints) {
  demand(layers >= 1, "at least one layer");
  demand(checkpoints >= 1, "at least one checkpoint");
  std::vector<ChainAction> list;
  reverse(0, layers - 1, checkpoints, list);
  return list;
}

}  // namespace trainyard

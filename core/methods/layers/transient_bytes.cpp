// This file computes the peak bytes of a layer's transients by walking its ops.
#include <algorithm>

#include "core/methods/layers/transients.h"

namespace trainyard {
namespace {

// Held sums the bytes that are allocated at the start of each op and freed at its end.
class Held {
 public:
  explicit Held(const std::vector<BodyOp>& ops)
      : ops_(ops), comes_(ops.size()), goes_(ops.size()) {}

  void from(std::uint32_t op, Bytes bytes) { comes_[op] += bytes; }
  void to(std::uint32_t op, Bytes bytes) { goes_[op] += bytes; }
  void hold(const Transient& t) { from(t.from, t.bytes), to(t.to, t.bytes); }

  /// Returns the peak above the initial level, over the ops for which `runs` is true; not negative.
  template <class Runs>
  Bytes most(Runs runs) const {
    Bytes now{}, most{};
    for (std::size_t i = 0; i < ops_.size(); ++i) {
      if (!runs(ops_[i])) continue;
      most = std::max(most, now += comes_[i]);
      now -= goes_[i];
    }
    return most;
  }

 private:
  const std::vector<BodyOp>& ops_;
  std::vector<Bytes> comes_, goes_;
};

bool any(const BodyOp&) { return true; }
bool weight(const BodyOp& op) { return op.pass == Pass::BackwardWeight; }
bool input(const BodyOp& op) { return !weight(op); }

bool takes_late(const std::vector<BodyOp>& backward) {
  const std::uint32_t first = first_op(backward);
  return first != kNoOp && weight(backward[first]);
}

}  // namespace

TransientBytes transient_bytes(const Body& body, const Graph& graph) {
  TransientBytes sum;
  Held forward(body.forward), all(body.backward), parts(body.backward), kept(body.backward),
      late(body.backward), blocks(body.backward);
  for (const Transient& t : body.transients) {
    if (!t.backward) {
      forward.hold(t);
      continue;
    }
    if (t.form == Transient::Form::Whole) blocks.hold(t);
    if (t.gradient && t.form == Transient::Form::Local &&
        (t.tensor == graph.input || t.tensor == graph.side_input)) {
      // It lives until the layer before takes it, which is after all ops of this layer.
      sum.input_gradient += t.bytes;
      for (Held* held : {&all, &parts, &late}) held->from(t.from, t.bytes);
      continue;
    }
    if (!is_late_gradient(graph, t)) all.hold(t);
    if (!t.carried) {
      parts.hold(t);
      continue;
    }
    sum.carried += t.bytes;
    kept.hold(t), late.hold(t);
  }
  for (const SavedTensor& s : body.saved)
    if (!s.recomputed && s.split_to != kNoOp)
      kept.to(s.split_to, s.bytes), late.to(s.split_to, s.bytes);
  Held rebuilt(body.backward), rebuilt_in_parts(body.backward);
  for (const SavedTensor& s : body.saved) {
    if (!s.recomputed || s.from == kNoOp || s.to == kNoOp || s.split_to == kNoOp) continue;
    rebuilt.from(s.from, s.bytes), rebuilt.to(s.to, s.bytes);
    rebuilt_in_parts.from(s.from, s.bytes), rebuilt_in_parts.to(s.split_to, s.bytes);
  }
  sum.rebuilt = rebuilt.most(any);
  sum.whole_rebuilt = rebuilt_in_parts.most(any);
  sum.input_rebuilt = rebuilt_in_parts.most(input);
  sum.forward = forward.most(any);
  sum.backward = all.most(any);
  sum.whole = parts.most(any), sum.input = parts.most(input), sum.weight = parts.most(weight);
  sum.whole_rise = kept.most(any), sum.input_rise = kept.most(input);
  sum.late_whole_rise = late.most(any), sum.late_input_rise = late.most(input);
  sum.blocks = blocks.most(any);
  sum.takes_late = takes_late(body.backward);
  return sum;
}

}  // namespace trainyard

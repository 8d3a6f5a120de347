#include "planners/schedules/weight_placement.h"

#include <algorithm>

#include "planners/index.h"

namespace trainyard {
namespace {

std::size_t travelling_length(const Pipeline& p) { return at(p.chunks) * at(p.microbatches) * 2; }

}  // namespace

WeightPlacer::WeightPlacer(const Pipeline& pipeline)
    : pipeline_(pipeline),
      forward_end_(at(pipeline.stages) * at(pipeline.microbatches)),
      input_end_(forward_end_.size()),
      done_(at(pipeline.stages) * 3),
      next_(at(pipeline.devices)),
      out_(next_.size()),
      held_(next_.size()),
      pending_(next_.size()) {
  found_.lanes.steps.resize(pipeline.lane_length() * next_.size());
  found_.ends.resize(next_.size());
}

const Placed* WeightPlacer::place(const Travelling& travelling, double overrun) {
  const Pipeline& p = pipeline_;
  const std::size_t length = travelling_length(p);
  std::fill(done_.begin(), done_.end(), 0);
  std::fill(next_.begin(), next_.end(), 0);
  std::fill(held_.begin(), held_.end(), 0);
  std::fill(pending_.begin(), pending_.end(), 0);
  std::fill(found_.ends.begin(), found_.ends.end(), 0);
  for (std::size_t d = 0; d < out_.size(); ++d) out_[d] = d * p.lane_length();
  stuck_ = false;
  for (bool moved = true; moved && !stuck_;) {
    moved = false;
    for (int d = 0; d < p.devices; ++d)
      moved = advance(d, travelling.data() + at(d) * length, overrun) || moved;
    for (int d = p.devices; d-- > 0;)
      moved = advance(d, travelling.data() + at(d) * length, overrun) || moved;
  }
  for (int d = 0; d < p.devices; ++d) {
    if (next_[at(d)] < length) return nullptr;
    while (pending_[at(d)] > 0) weight(d);
  }
  return &found_;
}

// Advances one lane for as long as the inputs of its steps are known.
bool WeightPlacer::advance(int d, const LaneStep* lane, double overrun) {
  const Pipeline& p = pipeline_;
  const std::size_t length = travelling_length(p), from = next_[at(d)], m = at(p.microbatches);
  std::size_t i = from;
  for (; i < length; ++i) {
    const Part pass = part_of(lane[i]);
    const std::size_t s = at(p.stage_at(d, chunk_of(lane[i])));
    const std::int32_t done = done_[3 * s + pass];
    const auto k = static_cast<std::size_t>(done);
    Ticks arrival = 0;
    if (pass == kForward) {
      if (s > 0) {
        if (done_[3 * (s - 1) + kForward] <= done) break;
        arrival = forward_end_[(s - 1) * m + k] + p.hop[s - 1];
      }
    } else {
      if (done_[3 * s + kForward] <= done) break;
      if (s + 1 < at(p.stages)) {
        if (done_[3 * (s + 1) + kInput] <= done) break;
        arrival = input_end_[(s + 1) * m + k] + p.hop[s];
      }
    }
    if (!fill(d, s, pass, arrival, overrun)) {
      stuck_ = true;
      break;
    }
    Ticks& end = found_.ends[at(d)];
    end = std::max(end, arrival) + p.time[pass][s];
    (pass == kForward ? forward_end_ : input_end_)[s * m + k] = end;
    held_[at(d)] += p.change[pass][s];
    if (pass == kInput && p.split) ++pending_[at(d)];
    found_.lanes.steps[out_[at(d)]++] = lane[i];
    ++done_[3 * s + pass];
  }
  next_[at(d)] = i;
  return i > from;
}

// Runs weight gradients before a step that could start at `arrival`: those that free the memory it
// needs, and those that the gap takes. Returns false if there is no memory for the step.
bool WeightPlacer::fill(int d, std::size_t s, Part pass, Ticks arrival, double overrun) {
  const Pipeline& p = pipeline_;
  while (pass == kForward && p.held[s] > p.limit[at(d)] - held_[at(d)]) {
    if (pending_[at(d)] == 0) return false;
    weight(d);
  }
  while (pending_[at(d)] > 0 && found_.ends[at(d)] < arrival) {
    const Ticks before = found_.ends[at(d)], gap = arrival - before;
    // Finds the length of the next weight gradient, which is that of the chunk that lags most.
    Ticks length = 0;
    std::int32_t most = 0;
    for (int c = 0; c < p.chunks; ++c) {
      const std::size_t w = at(p.stage_at(d, c));
      const std::int32_t lag = done_[3 * w + kInput] - done_[3 * w + kWeight];
      if (lag > most) most = lag, length = p.time[kWeight][w];
    }
    if (static_cast<double>(length - gap) > overrun * static_cast<double>(length)) break;
    weight(d);
  }
  return true;
}

// Runs a weight gradient of the chunk that lags most: what it frees has been held longest.
void WeightPlacer::weight(int d) {
  const Pipeline& p = pipeline_;
  int chunk = 0;
  std::int32_t most = 0;
  for (int c = 0; c < p.chunks; ++c) {
    const std::size_t w = at(p.stage_at(d, c));
    const std::int32_t lag = done_[3 * w + kInput] - done_[3 * w + kWeight];
    if (lag > most) most = lag, chunk = c;
  }
  const std::size_t s = at(p.stage_at(d, chunk));
  ++done_[3 * s + kWeight];
  --pending_[at(d)];
  held_[at(d)] += p.change[kWeight][s];
  found_.ends[at(d)] += p.time[kWeight][s];
  found_.lanes.steps[out_[at(d)]++] = step_of(chunk, kWeight);
}

}  // namespace trainyard

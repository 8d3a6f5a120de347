#include "planners/plans/plan_bound.h"

#include <algorithm>
#include <cmath>

#include "core/lowering/held_bytes.h"
#include "core/memory/process_bytes.h"

namespace trainyard {
namespace {

std::int64_t alone(const PhaseSum& p, std::int64_t blocking_weights) {
  return std::max(p.compute, p.beside) + p.blocking + blocking_weights;
}
std::int64_t with_weights(const PhaseSum& p, const StageStateSum::Weights& w) {
  return w.lead + std::max(p.compute, w.rest);
}

}  // namespace

KindPrice combine(const StageWorkSum& work, const StageStateSum& state, bool split,
                  bool reduce_every) {
  KindPrice k;
  k.forward = alone(work.forward, state.forward.blocking);
  k.weights = with_weights(work.forward, state.forward);
  if (split) {
    k.back = alone(work.backward_input, state.backward_input.blocking);
    k.both = k.forward + k.back + alone(work.backward_weight, state.backward_weight.blocking);
    k.weights += with_weights(work.backward_input, state.backward_input) +
                 with_weights(work.backward_weight, state.backward_weight);
  } else {
    k.back = alone(work.backward, state.backward.blocking);
    k.both = k.forward + k.back;
    k.weights += with_weights(work.backward, state.backward);
  }
  PhaseBytes bytes = work.bytes;
  bytes.gathered = state.gathered, bytes.unreduced = state.unreduced;
  bytes.backward_communication = state.backward_communication;
  k.live = kept_live(bytes).sum(), k.for_weight = kept_for_weight(bytes).sum();
  for (std::size_t phase = 0; phase < kPhases; ++phase)
    k.action[phase] = action_bytes(bytes, static_cast<Phase>(phase), split).sum();
  k.lasting = state.lasting, k.older = state.weights, k.resident = state.resident;
  k.further = work.further, k.bucket = state.bucket;
  k.reduce = state.reduce, k.reduce_last = state.reduce_last;
  k.reduce_overlapped = state.reduce_overlapped;
  k.update = state.update;
  if (state.gather_overlapped)
    k.arrive = state.gather_last;
  else
    k.publish = state.gather;
  if (reduce_every && !state.reduce_overlapped) k.first = state.reduce;
  return k;
}

StepBound bound_of(const std::vector<KindPrice>& kinds, const std::vector<std::uint16_t>& kind_of,
                   const Holdings& h, const Pricing& by, std::vector<DeviceSum>& devices) {
  std::fill(devices.begin(), devices.end(), DeviceSum{});
  const auto copied = static_cast<std::size_t>(copies(h.placement));
  const std::int64_t m = by.microbatches / static_cast<std::int64_t>(copied);
  std::int64_t ahead = 0, behind = 0;
  std::uint16_t before = h.device.front();
  for (std::size_t s = 0; s < kind_of.size(); ++s) {
    const KindPrice& k = kinds[kind_of[s]];
    if (h.device[s * copied] != before) ahead += by.transfer, behind += by.transfer;
    before = h.device[s * copied];
    for (std::size_t c = 0; c < copied; ++c) {
      const std::size_t place = s * copied + c;
      DeviceSum& d = devices[h.device[place]];
      if (d.fill < 0) {
        d.fill = copied > 1 ? 0 : ahead, d.drain = copied > 1 ? 0 : behind;
        d.tail = std::max(k.reduce_last, k.reduce_overlapped ? k.reduce - k.back : k.reduce) +
                 k.update + k.publish;
      }
      d.both += k.both, d.weights += k.weights, d.chain += k.forward + k.back;
      d.update += k.update, d.reduce += k.reduce, d.blocked += k.first;
      d.lasting += k.lasting, d.resident += k.resident;
      if (!h.older_versions.empty()) d.lasting += k.older * h.older_versions[place];
      d.further = std::max(d.further, k.further), d.bucket = std::max(d.bucket, k.bucket);
    }
    ahead += k.forward, behind += k.back;
  }
  StepBound found;
  const std::int64_t arrives = h.paced ? 0 : kinds[kind_of.front()].arrive;
  const double fragmentation = std::max(1.0, by.process.fragmentation);
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const DeviceSum& d = devices[i];
    const std::int64_t sends = by.blocking_sends && devices.size() > 1 ? by.transfer * m : 0;
    const std::int64_t busy = std::max(d.both * m + sends + d.blocked * (m - 1), d.weights * m);
    std::int64_t step = busy;
    if (h.shared) {
      step = busy / static_cast<std::int64_t>(std::max<std::size_t>(2, devices.size()));
    } else if (h.pairs) {
      step = arrives + d.fill + busy / 2;  // at most two actions run together
    } else if (!h.paced) {
      step =
          arrives + d.fill + std::max({busy + std::max(d.tail, d.update), d.chain * m + d.drain});
      if (by.reduce_every) step = std::max(step, d.fill + d.reduce * m + d.update);
    }
    found.step = std::max(found.step, step);
    const Bytes lasting = d.lasting + by.process.context + d.further + d.bucket;
    const auto kind = [&](std::uint32_t copy) -> const KindPrice& {
      return kinds[kind_of[copy / copied]];
    };
    Bytes most{};
    for (const HeldMoment& moment : h.moments[i]) {
      Bytes action, held;
      for (const HeldMoment::Running& running : moment.running)
        action =
            std::max(action, kind(running.copy).action[static_cast<std::size_t>(running.phase)]);
      for (const HeldCount& count : moment.counts)
        held += kind(count.copy).live * count.live + kind(count.copy).for_weight * count.for_weight;
      most = std::max(most, held + action);
    }
    const auto passing = static_cast<double>((most + d.resident).value);
    const Bytes reserved = lasting + Bytes{std::llround(passing * fragmentation)};
    if (reserved > found.memory)
      found.memory = reserved, found.device = static_cast<std::uint16_t>(i);
  }
  // Sums of layers are rounded differently from sums of stages, so the bound is lowered by a
  // margin.
  constexpr double kRounding = 1e-6;
  found.step -= std::min(
      found.step, 1000 + static_cast<std::int64_t>(kRounding * static_cast<double>(found.step)));
  return found;
}

}  // namespace trainyard

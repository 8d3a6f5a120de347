#include "core/timeline/residual_origin.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>

#include "core/timeline/breakdown_parts.h"
#include "core/timeline/metrics.h"

namespace trainyard {
namespace {

// Returns whether a part is at least half of the difference and has its sign.
bool has_half(Duration part, Duration difference) {
  const bool same_sign = (part.count() > 0) == (difference.count() > 0);
  return same_sign && 2 * std::abs(part.count()) >= std::abs(difference.count());
}

// A Pair is the time of one thing in the two runs.
struct Pair {
  InstructionId first;
  Duration predicted{}, measured{};
  Duration difference() const { return measured - predicted; }
};

// Returns whether `one` differs more than the best so far, in the direction of the difference.
bool farther(const Pair& one, const Pair& best, Duration difference) {
  return difference.count() > 0 ? one.difference() > best.difference()
                                : one.difference() < best.difference();
}

class Sides {
 public:
  Sides(const Program& p, DeviceId device, const Timeline& predicted, const Timeline& measured,
        const std::vector<double>& recompute_share)
      : p_(p),
        device_(device),
        predicted_(predicted),
        measured_(measured),
        recompute_share_(recompute_share),
        predicted_window_(step_window(predicted, p)),
        measured_window_(step_window(measured, p)) {}

  ResidualOrigin of_work(Duration Breakdown::* part, Duration difference) const {
    Pair all, span;
    int spans = 0;
    std::map<NameId, Pair> names;
    for_each([&](InstructionId id) {
      const Pair one{id, time_of(id, predicted_, predicted_window_).*part,
                     time_of(id, measured_, measured_window_).*part};
      if (one.predicted == Duration{} && one.measured == Duration{}) return;
      ++spans;
      if (farther(one, span, difference)) span = one;
      Pair& name = names.try_emplace(p_.task(id).name, Pair{id, {}, {}}).first->second;
      for (Pair* sum : {&all, &name})
        sum->predicted += one.predicted, sum->measured += one.measured;
    });
    if (names.empty()) return {};
    if (p_.task(names.begin()->second.first).kind != TaskKind::Compute &&
        !has_half(all.difference(), difference))
      return {OriginKind::Hidden, {}, 0, all.predicted, all.measured};
    Pair most;
    int kinds = 0;
    for (const auto& [name, sum] : names) {
      kinds += sum.difference() != Duration{} ? 1 : 0;
      if (farther(sum, most, difference)) most = sum;
    }
    if (!most.first.valid()) return {};
    const bool alone = spans > 1 && has_half(span.difference(), difference);
    const Pair& told = alone ? span : most;
    const OriginKind kind = alone                                     ? OriginKind::Span
                            : has_half(most.difference(), difference) ? OriginKind::Work
                                                                      : OriginKind::Spread;
    return {kind, told.first, kind == OriginKind::Spread ? kinds : 0, told.predicted,
            told.measured};
  }

  ResidualOrigin of_waits(Duration difference) const {
    const Waits p = waits(predicted_, predicted_window_), m = waits(measured_, measured_window_);
    constexpr OriginKind kKinds[] = {OriginKind::Fill, OriginKind::Steady, OriginKind::Drain};
    Pair most;
    ResidualOrigin origin;
    for (std::size_t i = 0; i < p.size(); ++i) {
      const Pair one{{}, p[i], m[i]};
      if (!farther(one, most, difference)) continue;
      most = one;
      origin = {kKinds[i], {}, 0, one.predicted, one.measured};
    }
    return origin;
  }

 private:
  using Waits = std::array<Duration, 3>;  // fill, steady, drain

  template <class F>
  void for_each(F with) const {
    for (const Stream& stream : p_.streams)
      if (stream.device == device_)
        for (std::uint32_t i = stream.first; i < stream.first + stream.count; ++i)
          with(InstructionId{i});
  }

  Breakdown time_of(InstructionId id, const Timeline& t, const StepWindow& window) const {
    Breakdown b;
    const Span& span = t.spans[id.value];
    const Duration own = std::min(span.end, window.to) - std::max(span.start, window.from);
    if (own <= Duration{}) return b;
    const Task& task = p_.task(id);
    const std::size_t at = p_.instructions[id.value].task.value;
    if (task.kind == TaskKind::Compute)
      add_compute(b, task, own, at < recompute_share_.size() ? recompute_share_[at] : 0);
    else
      transfer_part(b, task) += own;
    return b;
  }

  Waits waits(const Timeline& t, const StepWindow& window) const {
    std::vector<InstructionId> work;
    for_each([&](InstructionId id) {
      if (p_.task(id).kind == TaskKind::Compute && t.spans[id.value].end > window.from &&
          t.spans[id.value].start < window.to)
        work.push_back(id);
    });
    std::stable_sort(work.begin(), work.end(), [&](InstructionId a, InstructionId b) {
      return t.spans[a.value].start < t.spans[b.value].start;
    });
    const auto forward = [&](InstructionId id) { return p_.task(id).phase == Phase::Forward; };
    const auto first_backward = std::find_if_not(work.begin(), work.end(), forward);
    const auto after_forward = std::find_if(work.rbegin(), work.rend(), forward).base();
    Waits waits{};
    Instant covered = window.from;
    for (auto at = work.begin(); at != work.end(); ++at) {
      const Span& span = t.spans[at->value];
      const std::size_t kind = at <= first_backward ? 0 : at < after_forward ? 1 : 2;
      waits[kind] += std::max(Duration{}, std::min(span.start, window.to) - covered);
      covered = std::max(covered, span.end);
    }
    waits[first_backward == work.end() ? 0 : 2] += std::max(Duration{}, window.to - covered);
    return waits;
  }

  const Program& p_;
  const DeviceId device_;
  const Timeline &predicted_, &measured_;
  const std::vector<double>& recompute_share_;
  const StepWindow predicted_window_, measured_window_;
};

}  // namespace

ResidualOrigin residual_origin(Duration Breakdown::* part, Duration difference, const Program& p,
                               DeviceId device, const Timeline& predicted, const Timeline& measured,
                               const std::vector<double>& recompute_share) {
  if (difference == Duration{}) return {};
  const Sides sides(p, device, predicted, measured, recompute_share);
  return part == &Breakdown::bubble ? sides.of_waits(difference) : sides.of_work(part, difference);
}

}  // namespace trainyard

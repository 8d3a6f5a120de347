#include "core/estimate/layer_waits.h"

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <tuple>

#include "core/cluster/host.h"
#include "core/cluster/mixed.h"
#include "core/estimate/estimate.h"
#include "core/lowering/layer_copies.h"
#include "core/lowering/phases.h"

namespace trainyard {
namespace {

// So many layers of a device's lane are followed; what its actions wait repeats long before.
constexpr std::size_t kMostSteps = 20'000;

struct LayerClock {
  Duration forward{}, backward{}, down{}, up{};
};
using StageClock = std::vector<LayerClock>;

std::vector<StageClock> stage_clocks(const Workload& w, const CostModel& cost) {
  Workload alone = w;  // with one layer of each kind as a stage
  alone.runs.clear();
  for (int body = 0; body < static_cast<int>(w.bodies.size()); ++body)
    alone.runs.push_back({{body, 1, 0}});
  sum_stages(alone);
  const KindClusters clusters(w.scenario.cluster);
  std::vector<std::vector<StageTime>> by_kind;
  for (std::size_t kind = 0; kind < clusters.size(); ++kind)
    by_kind.push_back(stage_times(alone, cost, clusters[kind]));
  std::vector<StageClock> stages;
  for (std::size_t s = 0; s < w.runs.size(); ++s) {
    const std::size_t kind = kind_of_stage(w, s);
    const std::vector<StageTime>& times = by_kind[kind];
    const Cluster& cluster = clusters[kind];
    StageClock& stage = stages.emplace_back();
    Bytes handed{};  // the output of the layer before, if it leaves
    const auto copy = [&](Bytes bytes) {
      return bytes.value > 0 ? host_copy_time(bytes, cluster) : Duration{};
    };
    for (const Workload::Run& run : w.runs[s]) {
      const auto body = static_cast<std::size_t>(run.body);
      const LeavingBytes bytes = leaving_bytes(w, w.bodies[body]);
      for (int i = 0; i < run.count; ++i) {
        stage.push_back({times[body].forward.total(), times[body].backward.total(),
                         copy(bytes.all - bytes.output + handed), copy(bytes.all)});
        handed = bytes.output;
      }
    }
  }
  return stages;
}

// LaneClock follows one lane layer by layer.
class LaneClock {
 public:
  LaneClock(const std::vector<StageClock>& stages, std::size_t in_flight)
      : stages_(stages), in_flight_(in_flight) {}

  // Returns how long the action waits for copies.
  Duration wait(const Action& a, bool turn) {
    const StageClock& layers = stages_[a.stage.value];
    const bool forward = a.phase == Phase::Forward;
    Duration waited{};
    for (std::size_t i = 0; i < layers.size(); ++i) {
      const std::size_t l = forward ? i : layers.size() - 1 - i;
      const bool stays = turn && stays_in_turn(l, layers.size(), in_flight_);
      Duration ready = now_;
      if (forward && gone_.size() > in_flight_) ready = gone_.front();
      if (!forward && !stays && layers[l].up > Duration{}) {
        const Duration window = starts_.size() < in_flight_ ? Duration{} : starts_.front();
        ready = up_ =
            std::max({up_, window, there_[{a.stage.value, a.microbatch, l}]}) + layers[l].up;
      }
      const Duration start = std::max(now_, ready);
      waited += start - now_;
      starts_.push_back(start);
      if (starts_.size() > in_flight_) starts_.pop_front();
      now_ = start + (forward ? layers[l].forward : layers[l].backward);
      if (!forward || stays || layers[l].down == Duration{}) continue;
      down_ = std::max(down_, now_) + layers[l].down;
      for (std::size_t of = l > 0 ? l - 1 : l; of <= l; ++of)
        there_[{a.stage.value, a.microbatch, of}] = down_;
      gone_.push_back(down_);
      if (gone_.size() > in_flight_ + 1) gone_.pop_front();
    }
    steps_ += layers.size();
    return waited;
  }
  bool enough() const { return steps_ > kMostSteps; }

 private:
  const std::vector<StageClock>& stages_;
  const std::size_t in_flight_;
  Duration now_{}, down_{}, up_{};
  std::deque<Duration> gone_, starts_;  // the newest
  std::map<std::tuple<std::uint32_t, std::int32_t, std::size_t>, Duration> there_;
  std::size_t steps_ = 0;
};

}  // namespace

std::vector<LayerWaits> layer_waits(const Workload& w, const CostModel& cost) {
  std::vector<LayerWaits> waits(w.table.size());
  if (w.layout.layers_in_flight == 0) return waits;
  const std::vector<StageClock> stages = stage_clocks(w, cost);
  std::vector<std::array<int, 2>> actions(waits.size());  // by stage: forwards and backwards
  const Order followed = order(w, schedule_shape(w));
  for (const Lane& lane : followed.lanes) {
    const std::vector<bool> turn = turns(lane);
    LaneClock clock(stages, w.layout.layers_in_flight);
    for (std::size_t i = 0; i < lane.actions.size() && !clock.enough(); ++i) {
      const Action& a = lane.actions[i];
      if (a.phase != Phase::Forward && a.phase != Phase::Backward) continue;
      const bool forward = a.phase == Phase::Forward;
      LayerWaits& of = waits[a.stage.value];
      (forward ? of.forward : of.backward) += clock.wait(a, turn[i]);
      ++actions[a.stage.value][forward ? 0 : 1];
    }
  }
  for (std::size_t s = 0; s < waits.size(); ++s) {
    waits[s].forward /= std::max(1, actions[s][0]);
    waits[s].backward /= std::max(1, actions[s][1]);
  }
  return waits;
}

}  // namespace trainyard

#include "core/result/energy.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/base/units_text.h"
#include "core/cluster/mixed.h"
#include "core/cost/roofline.h"
#include "core/plan/stage_kinds.h"

namespace trainyard {
namespace {

struct PowerShare {
  double low = 0, value = 0, high = 0;
};

// Idle power as a share of board power, for a device whose idle power is not stated. The basis is
// published readings of devices that hold a job's memory and run nothing: V100 53 of 300 W, A100 85
// of 400 W, H100 109 to 145 of 700 W, MI300X 191 of 750 W, MI355X 238 of 1400 W (issues named in
// the device catalogue).
constexpr PowerShare kIdleOfBoard{0.12, 0.18, 0.25};
// The range around a stated idle power: the two H100 readings are 14 % from their mean.
constexpr PowerShare kIdleOfStated{0.85, 1.0, 1.15};

// The other shares are of the difference between idle and board power. A bubble may be a kernel
// that waits for a message: V100s that were 99 % busy waiting for each other drew 67 to 71 of 300 W
// (huggingface/peft issue 194), 7 % of the difference above idle.
constexpr PowerShare kBubble{0.0, 0.0, 0.07};
// Exposed collectives range from waiting as above to the troughs of GPT-NeoX training at half of
// board power (Patel et al., POLCA 2023; that figure is recalled).
constexpr PowerShare kExposed{0.07, 0.22, 0.4};
// For kernels bound by memory: decoding one sequence on an H100 draws 300 of 700 W, decoding 128
// draws 600 W (ML.ENERGY benchmark 3.0); kernels that stream at full bandwidth are assumed to be
// between.
constexpr PowerShare kStreams{0.3, 0.42, 0.6};
// Products run at the sustained rate. Nodes of 8 H100 that train near full utilisation stay 18 to
// 24 % below their rated power (Latif et al. 2024, Newkirk et al. 2025).
constexpr PowerShare kProducts{0.8, 1.0, 1.0};

double mix(double from, double to, double share) { return from + (to - from) * share; }

PowerShare mixed(const PowerShare& from, const PowerShare& to, double share) {
  return {mix(from.low, to.low, share), mix(from.value, to.value, share),
          mix(from.high, to.high, share)};
}

Banded<Watts> idle_power(const Device& device) {
  const Sourced<Watts>& stated = device.idle_power;
  const bool known = stated.value.value > 0;
  const double board = device.power.value.value;
  const double whole = known ? stated.value.value : board;
  const PowerShare& share = known ? kIdleOfStated : kIdleOfBoard;
  const auto watts = [&](double part) { return Watts{std::min(board, whole * part)}; };
  return {watts(share.value), watts(share.low), watts(share.high),
          known ? stated.source
                : fmt::format("assumed: {:.0f} to {:.0f} % of board power, as other devices draw",
                              100 * share.low, 100 * share.high)};
}

}  // namespace

DeviceTime& DeviceTime::operator+=(const DeviceTime& more) {
  computing += more.computing, streaming += more.streaming;
  communicating += more.communicating, idle += more.idle;
  return *this;
}

DeviceTime operator*(const DeviceTime& time, double count) {
  return {time.computing * count, time.streaming * count, time.communicating * count,
          time.idle * count};
}

DeviceTime device_time(const Breakdown& b) {
  return {to_seconds(b.forward + b.backward + b.recompute), to_seconds(b.optimizer),
          to_seconds(b.exposed_communication()),
          to_seconds(b.bubble + b.host + b.allocator + b.input + b.slower)};
}

std::vector<PoweredUse> uses_of_kinds(const Cluster& cluster, const Mesh& mesh,
                                      const std::vector<PoweredUse>& ranks, double replicas) {
  std::vector<PoweredUse> uses(kinds(cluster));
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    PoweredUse& use = uses[kind_of_rank(cluster, mesh, DeviceId{static_cast<std::uint32_t>(rank)})];
    use.time += ranks[rank].time * replicas;
    use.hardware += ranks[rank].hardware * replicas;
  }
  return uses;
}

std::optional<PowerDraw> power_draw(const Device& device, double load) {
  const double board = device.power.value.value;
  if (!(board > 0)) return std::nullopt;
  const Banded<Watts> idle = idle_power(device);
  const auto at = [&](const PowerShare& share, std::string basis) {
    return Banded<Watts>{{mix(idle.value.value, board, share.value)},
                         {mix(idle.low.value, board, share.low)},
                         {mix(idle.high.value, board, share.high)},
                         std::move(basis)};
  };
  load = std::clamp(load, 0.0, 1.0);
  return PowerDraw{
      at(mixed(kStreams, kProducts, load),
         fmt::format("products at {:.0f} % of the rate that the device sustains", 100 * load)),
      at(kStreams, "kernels bound by memory"),
      at(kExposed, "exposed communication"),
      at(kBubble, idle.basis),
      {board}};
}

double product_load(const DeviceTime& time, Flops hardware, const Device& device, DType math) {
  const Work product{.flops = hardware, .kind = WorkKind::Product, .math = math};
  const double least = arithmetic_seconds(product, device, device.efficiency, 0);
  return time.computing > 0 ? std::min(1.0, least / time.computing) : 0;
}

std::optional<std::vector<PowerDraw>> power_of_kinds(const Cluster& cluster,
                                                     const std::vector<PoweredUse>& uses,
                                                     DType math) {
  std::vector<PowerDraw> draws;
  for (std::size_t kind = 0; kind < uses.size(); ++kind) {
    const Device& device = device_of_kind(cluster, kind);
    std::optional<PowerDraw> draw =
        power_draw(device, product_load(uses[kind].time, uses[kind].hardware, device, math));
    if (!draw) return std::nullopt;
    draws.push_back(*std::move(draw));
  }
  return draws;
}

PowerDraw mean_power(const Cluster& cluster, const std::vector<PowerDraw>& draws,
                     const std::vector<PoweredUse>& uses) {
  if (draws.size() == 1) return draws.front();
  DeviceTime all;
  for (const PoweredUse& use : uses) all += use.time;
  const auto mean = [&](Banded<Watts> PowerDraw::* power, double DeviceTime::* state) {
    Banded<Watts> of{};
    for (std::size_t kind = 0; kind < draws.size(); ++kind) {
      const double part = all.*state > 0 ? uses[kind].time.*state / (all.*state)
                                         : static_cast<double>(count_of_kind(cluster, kind)) /
                                               static_cast<double>(cluster.count);
      const Banded<Watts>& one = draws[kind].*power;
      of.value.value += part * one.value.value;
      of.low.value += part * one.low.value, of.high.value += part * one.high.value;
      of.basis += fmt::format("{}{}: {}", kind > 0 ? "; " : "", device_of_kind(cluster, kind).name,
                              one.basis);
    }
    return of;
  };
  PowerDraw made{mean(&PowerDraw::computing, &DeviceTime::computing),
                 mean(&PowerDraw::streaming, &DeviceTime::streaming),
                 mean(&PowerDraw::communicating, &DeviceTime::communicating),
                 mean(&PowerDraw::idle, &DeviceTime::idle),
                 {}};
  for (std::size_t kind = 0; kind < draws.size(); ++kind)
    made.board.value += draws[kind].board.value *
                        static_cast<double>(count_of_kind(cluster, kind)) /
                        static_cast<double>(cluster.count);
  return made;
}

Banded<Joules> energy_of(const PowerDraw& draw, const DeviceTime& time) {
  const auto sum = [&](Watts Banded<Watts>::* end) {
    return Joules{(draw.computing.*end).value * time.computing +
                  (draw.streaming.*end).value * time.streaming +
                  (draw.communicating.*end).value * time.communicating +
                  (draw.idle.*end).value * time.idle};
  };
  Banded<Joules> energy{sum(&Banded<Watts>::value), sum(&Banded<Watts>::low),
                        sum(&Banded<Watts>::high), ""};
  energy.basis = fmt::format(
      "{} idle, {} in exposed communication, {} while computing ({}); hosts, network and cooling "
      "are not counted",
      readable(draw.idle.value), readable(draw.communicating.value), readable(draw.computing.value),
      draw.computing.basis);
  return energy;
}

Banded<Joules> EnergyParts::working() const {
  Banded<Joules> sum = computing;
  for (const Banded<Joules>* part : {&streaming, &communicating})
    sum.value += part->value, sum.low += part->low, sum.high += part->high;
  return sum;
}

EnergyParts energy_parts(const PowerDraw& draw, const DeviceTime& time,
                         const Banded<Joules>& whole) {
  const Banded<Joules> plain = energy_of(draw, time);
  const auto ratio = [](Joules of, Joules to) { return to.value > 0 ? of.value / to.value : 1; };
  const double low = ratio(whole.low, plain.low), high = ratio(whole.high, plain.high);
  const auto part = [&](double DeviceTime::* state, const Banded<Watts>& power) {
    const double seconds = time.*state;
    return Banded<Joules>{{power.value.value * seconds},
                          {power.low.value * seconds * low},
                          {power.high.value * seconds * high},
                          power.basis};
  };
  return {part(&DeviceTime::computing, draw.computing),
          part(&DeviceTime::streaming, draw.streaming),
          part(&DeviceTime::communicating, draw.communicating),
          part(&DeviceTime::idle, draw.idle),
          {draw.board.value * time.total()}};
}

}  // namespace trainyard

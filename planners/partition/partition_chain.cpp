#include "planners/partition/partition_chain.h"

#include <fmt/format.h>

#include <cmath>
#include <string>

namespace trainyard {
namespace {

void expect_at_least(std::int64_t value, std::int64_t least, const std::string& field) {
  if (value < least) refuse(field, fmt::format("expected at least {}, found {}", least, value));
}

void check_kind(const ChainLayer& kind, std::size_t classes, const std::string& place) {
  if (kind.times.size() < classes)
    refuse(place + ".times", fmt::format("expected times of {} classes of devices, found {}",
                                         classes, kind.times.size()));
  for (const PassTimes& t : kind.times)
    expect_at_least(std::min(t.forward, t.backward).count(), 0, place + ".times");
  for (const Bytes b : {kind.state, kind.activations, kind.workspace, kind.gradients, kind.output})
    expect_at_least(b.value, 0, place);
}

// The limit up to which sums of all priced figures stay exact.
constexpr double kMostCost = 1e18;

void check_sums(const PartitionProblem& p) {
  double time = 0, bytes = 0;
  std::int64_t live = p.microbatches;
  for (const int l : p.live) live = std::max<std::int64_t>(live, l);
  for (const std::uint32_t layer : p.layers) {
    const ChainLayer& kind = p.kinds[layer];
    double longest = 0;
    for (const PassTimes& t : kind.times)
      longest = std::max(longest, static_cast<double>(t.forward.count()) +
                                      static_cast<double>(t.backward.count()));
    for (const BytesPerSecond link : p.links)
      longest += 2e9 * (static_cast<double>(kind.output.value) / link.value) +
                 2 * static_cast<double>(p.latency.count());
    time += longest;
    bytes += static_cast<double>(kind.state.value) + static_cast<double>(kind.gradients.value) +
             static_cast<double>(kind.workspace.value) +
             static_cast<double>(kind.activations.value) * static_cast<double>(live);
  }
  if (time * p.microbatches > kMostCost || bytes > kMostCost)
    refuse("layers", "expected a step of at most 31 years and 10^18 bytes, found more");
}

}  // namespace

void check_chain(const PartitionProblem& p) {
  expect_at_least(static_cast<std::int64_t>(p.devices.size()), 1, "devices");
  expect_at_least(p.microbatches, 1, "microbatches");
  expect_at_least(p.replicas, 1, "replicas");
  expect_at_least(p.accumulated, 1, "accumulated");
  expect_at_least(p.latency.count(), 0, "latency");
  std::size_t classes = 0;
  for (const ChainDevice& d : p.devices) {
    expect_at_least(d.device_class, 0, "devices");
    classes = std::max(classes, static_cast<std::size_t>(d.device_class) + 1);
  }
  for (std::size_t k = 0; k < p.kinds.size(); ++k)
    check_kind(p.kinds[k], classes, fmt::format("kinds[{}]", k));
  for (const std::uint32_t layer : p.layers)
    if (layer >= p.kinds.size())
      refuse("layers", fmt::format("expected kinds below {}, found {}", p.kinds.size(), layer));
  for (const int live : p.live) expect_at_least(live, 0, "live");
  if (!p.links.empty() && p.links.size() + 1 != p.devices.size())
    refuse("links", fmt::format("expected none or {}, one between two devices, found {}",
                                p.devices.size() - 1, p.links.size()));
  for (const BytesPerSecond link : p.links)
    if (!(link.value > 0)) refuse("links", fmt::format("expected rates, found {}", link.value));
  if (!(p.reduce_bandwidth.value >= 0))
    refuse("reduce_bandwidth", fmt::format("expected a rate, found {}", p.reduce_bandwidth.value));
  const std::size_t least = (p.devices.size() - 1) / static_cast<std::size_t>(p.replicas) + 1;
  if (p.layers.size() < least)
    refuse("layers", fmt::format("{} layers cannot fill {} stages: each needs at least one",
                                 p.layers.size(), least));
  check_sums(p);
}

PartitionChain::PartitionChain(const PartitionProblem& p, const std::vector<int>& order)
    : layers_(p.layers.size()),
      replicas_(std::min(static_cast<std::size_t>(p.replicas), p.devices.size())),
      blocking_(p.blocking_sends),
      kind_(p.layers),
      reduce_bandwidth_(p.reduce_bandwidth.value),
      accumulated_(p.accumulated) {
  std::size_t classes = 0;
  for (const int d : order) {
    const ChainDevice& device = p.devices[static_cast<std::size_t>(d)];
    devices_.push_back(device.device_class), memory_.push_back(device.memory.value);
    classes = std::max(classes, static_cast<std::size_t>(device.device_class) + 1);
  }
  time_.assign(classes, std::vector<Ticks>(layers_ + 1));
  state_.resize(layers_ + 1), activations_.resize(layers_ + 1), gradients_.resize(layers_ + 1);
  for (std::size_t l = 0; l < layers_; ++l) {
    const ChainLayer& kind = p.kinds[kind_[l]];
    for (std::size_t c = 0; c < classes; ++c)
      time_[c][l + 1] = time_[c][l] + (kind.times[c].forward + kind.times[c].backward).count();
    state_[l + 1] = state_[l] + kind.state.value;
    activations_[l + 1] = activations_[l] + kind.activations.value;
    gradients_[l + 1] = gradients_[l] + kind.gradients.value;
  }
  fastest_.resize(layers_ + 1);
  for (std::size_t l = 0; l < layers_; ++l) {
    Ticks least = kNever;
    for (const std::vector<Ticks>& sums : time_) least = std::min(least, sums[l + 1] - sums[l]);
    fastest_[l + 1] = fastest_[l] + least;
  }
  for (const ChainLayer& kind : p.kinds) workspace_.push_back(kind.workspace.value);
  for (const BytesPerSecond link : p.links) {
    message_.emplace_back();
    for (const ChainLayer& kind : p.kinds)
      message_.back().push_back((kind.output / link + p.latency).count());
  }
  for (std::size_t behind = 0; behind < devices_.size(); ++behind)
    live_.push_back(p.live.empty()
                        ? std::min<std::int64_t>(p.microbatches, static_cast<int>(behind) + 1)
                        : p.live[std::min(behind, p.live.size() - 1)]);
}

PartitionChain PartitionChain::without_memory() const {
  PartitionChain chain = *this;
  chain.limited_ = false;
  return chain;
}

PartitionChain::Ticks PartitionChain::compute(const Owners& owners, std::size_t from,
                                              std::size_t to) const {
  Ticks slowest = 0;
  for (std::size_t d = owners.first; d < owners.end; ++d) {
    const std::vector<Ticks>& sums = time_[static_cast<std::size_t>(devices_[d])];
    slowest = std::max(slowest, sums[to] - sums[from]);
  }
  return slowest;
}

PartitionChain::Ticks PartitionChain::message(std::size_t layer, std::size_t link) const {
  return message_.empty() ? 0 : message_[link][kind_[layer]];
}

PartitionChain::Stage PartitionChain::stage(const Owners& owners, std::size_t from, std::size_t to,
                                            Ticks compute, std::int64_t workspace) const {
  const auto count = static_cast<std::int64_t>(owners.count());
  const Ticks out = to < layers_ ? message(to - 1, owners.end - 1) : 0;
  const Ticks in = from > 0 ? message(from - 1, owners.first - 1) : 0;
  const Ticks busy = compute + (blocking_ ? in + out : 0);
  Stage s;
  s.end = to, s.devices = owners.count();
  s.pace = (busy + count - 1) / count;
  if (count > 1 && reduce_bandwidth_ > 0) {
    const double sent = 2.0 * static_cast<double>(count - 1) / static_cast<double>(count) *
                        static_cast<double>(gradients_[to] - gradients_[from]);
    const Ticks reduced = seconds(sent / reduce_bandwidth_).count();
    s.pace = std::max(s.pace, (reduced + accumulated_ - 1) / accumulated_);
  }
  if (!blocking_) s.pace = std::max(s.pace, 2 * out);
  s.latency = compute + 2 * out;
  const std::int64_t live = (live_[owners.behind] + count - 1) / count;
  s.needed = state_[to] - state_[from] + live * (activations_[to] - activations_[from]) + workspace;
  const auto memory = memory_.begin();
  const std::int64_t room = *std::min_element(memory + static_cast<std::ptrdiff_t>(owners.first),
                                              memory + static_cast<std::ptrdiff_t>(owners.end));
  s.missing = std::max<std::int64_t>(0, s.needed - room);
  return s;
}

PartitionChain::Ticks PartitionChain::least_pace() const {
  const auto p = static_cast<Ticks>(devices_.size());
  Ticks least = (fastest_.back() + p - 1) / p;
  if (shared()) return least;
  for (std::size_t l = 0; l < layers_; ++l) least = std::max(least, fastest_[l + 1] - fastest_[l]);
  // Says whether the devices, each filled with layers up to the pace in turn, take the whole chain.
  const auto enough = [&](Ticks pace) {
    auto at = fastest_.begin();
    for (std::size_t d = 0; d < devices_.size() && at + 1 != fastest_.end(); ++d)
      at = std::upper_bound(at, fastest_.end(), *at + pace) - 1;
    return at + 1 == fastest_.end();
  };
  for (Ticks most = fastest_.back(); least < most;) {
    const Ticks middle = least + (most - least) / 2;
    if (enough(middle))
      most = middle;
    else
      least = middle + 1;
  }
  return least;
}

PartitionChain::Ticks PartitionChain::least_latency() const {
  Ticks sum = fastest_.back();
  if (shared()) return sum;  // a shared stage can skip links
  for (const std::vector<Ticks>& by_kind : message_) {
    Ticks least = kNever;
    for (const std::uint32_t kind : kind_) least = std::min(least, by_kind[kind]);
    sum += 2 * least;
  }
  return sum;
}

PartitionChain::Range PartitionChain::starts(std::size_t devices, Ticks limit) const {
  const std::size_t before = devices_.size() - devices;
  if (before == 0) return {0, 1};
  const Ticks all = fastest_.back();
  const auto room = [&](std::size_t count) {  // capped at the whole chain
    return limit > all / static_cast<Ticks>(count) ? all : limit * static_cast<Ticks>(count);
  };
  const auto first =
      std::lower_bound(fastest_.begin(), fastest_.end(), all - room(devices)) - fastest_.begin();
  const auto last =
      std::upper_bound(fastest_.begin(), fastest_.end(), room(before)) - fastest_.begin();
  return {std::max(fewest_stages(before), static_cast<std::size_t>(first)),
          static_cast<std::size_t>(last)};
}

std::vector<PartitionChain::Ticks> PartitionChain::paces(Ticks above, Ticks most) const {
  std::vector<Ticks> found;
  const std::size_t p = devices_.size();
  for (std::size_t devices = 1; devices <= p; ++devices)
    for (std::size_t stages = shared() ? 1 : devices; stages <= devices; ++stages) {
      if (devices > stages * replicas_ || stages > layers_) continue;
      const auto [from, to] = starts(devices, most);
      for (std::size_t layer = from; layer < to && layer + stages <= layers_; ++layer)
        each_stage(stages, devices, layer, most, [&](const Stage& s) {
          if (s.pace > above) found.push_back(s.pace);
        });
    }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

}  // namespace trainyard

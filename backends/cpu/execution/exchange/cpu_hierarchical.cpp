// Implements the compressed exchange between nodes (hitopk, core/methods/parallel/compression.cpp).
// Gradients that are compressed lie side by side in the order of a layer's parameters, and each
// replica of a node has a slice of them: its shard. What was not sent of a shard lies with its
// owner.
#include <algorithm>
#include <cstring>
#include <memory>

#include "backends/cpu/execution/cpu_execution.h"
#include "backends/cpu/kernels/convert.h"
#include "core/base/random.h"
#include "core/training/compression.h"

namespace trainyard {
namespace {

// The sums of squares of a shard travel before its elements.
struct ShardHeader {
  double parts = 0, whole = 0;
};

using ShardBytes = std::vector<std::vector<std::byte>>;

template <class T>
void put_shard(std::vector<std::byte>& into, const T* from, std::size_t count) {
  const auto* const bytes = reinterpret_cast<const std::byte*>(from);
  into.insert(into.end(), bytes, bytes + count * sizeof(T));
}

template <class T>
std::vector<T> get_shard(const std::byte* from, std::size_t count) {
  std::vector<T> found(count);
  if (count > 0) std::memcpy(found.data(), from, count * sizeof(T));
  return found;
}

}  // namespace

std::int64_t CpuExecution::compressed_elements(std::size_t at, std::size_t l) const {
  std::int64_t sum = 0;
  for (const PlacedParameter& p : plan_.places[at].layers[l].parameters)
    if (is_exchanged(p, true)) sum += p.elements;
  return sum;
}

// Calls f(parameter, where its part lies in gradients and in optimizer state, the part's elements,
// where it begins in the range) for the parts of parameters that lie in the range.
template <class F>
void CpuExecution::each_in_range(std::size_t at, std::size_t l, const PartRange& range,
                                 F&& f) const {
  const PlacedLayer& layer = plan_.places[at].layers[l];
  std::int64_t first = 0;
  for (const PlacedParameter& p : layer.parameters) {
    if (!is_exchanged(p, true)) continue;
    const StatePart& part = layer.part_of(p);
    const std::int64_t from = std::max(first, range.first),
                       to = std::min(first + p.elements, range.first + range.count),
                       in_part = p.offset - part.first + from - first;
    if (from < to)
      f(p, Exchanged{part.gradients.at + in_part, part.optimizer.at + in_part}, to - from,
        static_cast<std::size_t>(from - range.first));
    first += p.elements;
  }
}

std::vector<float> CpuExecution::read_gradients(const StageState& stage, std::size_t at,
                                                std::size_t l, const PartRange& range) const {
  const DType type = plan_.workload.layout.precision.gradient;
  std::vector<float> found(static_cast<std::size_t>(range.count));
  each_in_range(
      at, l, range,
      [&](const PlacedParameter&, const Exchanged& where, std::int64_t n, std::size_t begin) {
        to_floats(stage.gradients[0].data + where.in_gradients * bytes_of(type), type,
                  found.data() + begin, n);
      });
  return found;
}

void CpuExecution::write_gradients(const StageState& stage, std::size_t at, std::size_t l,
                                   const PartRange& range, std::span<const float> from) const {
  const DType type = plan_.workload.layout.precision.gradient;
  each_in_range(
      at, l, range,
      [&](const PlacedParameter&, const Exchanged& where, std::int64_t n, std::size_t begin) {
        from_floats(from.data() + begin,
                    stage.gradients[0].data + where.in_gradients * bytes_of(type), type, n);
      });
}

// Each replica of the node then has the node's sum of its shard in place of its own gradient.
TravelPtr CpuExecution::scatter_in_node(const At& a, std::span<const int> members) {
  const std::size_t l = plan_.layer_of(a.task.layer), at = a.place, ranks = members.size();
  const DeviceId device = a.device.device();
  const Company company = company_of(a, members);
  const std::int64_t n = compressed_elements(at, l);
  const auto own = std::make_shared<std::vector<std::vector<float>>>(ranks);
  for (std::size_t r = 0; r < ranks; ++r)
    if (company.here(r))
      (*own)[r] = read_gradients(state(device, members[r]).stage(at), at, l, {0, n});
  return deal(
      company,
      [own, n, ranks](std::size_t from, std::size_t to) {
        const PartRange range = slice_of(n, to, ranks);
        return std::as_bytes(std::span<const float>((*own)[from])
                                 .subspan(static_cast<std::size_t>(range.first),
                                          static_cast<std::size_t>(range.count)));
      },
      [n, ranks](std::size_t, std::size_t to) {
        return static_cast<std::size_t>(slice_of(n, to, ranks).count) * sizeof(float);
      },
      [=, this](const Dealt& dealt) -> TravelPtr {
        for (std::size_t r = 0; r < ranks; ++r) {
          if (!company.here(r)) continue;
          const PartRange range = slice_of(n, r, ranks);
          const auto count = static_cast<std::size_t>(range.count);
          std::vector<float> sum = get_shard<float>(dealt(0, r).data(), count);
          for (std::size_t from = 1; from < ranks; ++from) {
            const std::vector<float> part = get_shard<float>(dealt(from, r).data(), count);
            for (std::size_t i = 0; i < count; ++i) sum[i] += part[i];
          }
          write_gradients(state(device, members[r]).stage(at), at, l, range, sum);
        }
        static_cast<void>(own);  // in which the parts of this process lie
        return nullptr;
      });
}

// Like ranks of all nodes exchange what they select of one shard.
TravelPtr CpuExecution::exchange_between_nodes(const At& a, std::span<const int> members) {
  const std::size_t l = plan_.layer_of(a.task.layer), at = a.place, nodes = members.size();
  const DeviceId device = a.device.device();
  const Company company = company_of(a, members);
  const PlacedLayer& layer = plan_.places[at].layers[l];
  const auto dividing = static_cast<std::size_t>(plan_.peers.shard);
  const std::size_t shard = static_cast<std::size_t>(plan_.peers.data_rank(members[0])) % dividing;
  const PartRange range = slice_of(compressed_elements(at, l), shard, dividing);
  const auto k = static_cast<std::size_t>(
      sent_elements(range.count, ratio_at(compression_.ratio, compression_.warmup, updates_)));
  const std::size_t unsent_at =
      (rule().slots().size() + (weight_update_ == WeightUpdate::Master ? 1 : 0)) *
      static_cast<std::size_t>(plan_.places[at].optimizer);
  const auto packed = std::make_shared<ShardBytes>(nodes);
  std::vector<const std::byte*> from(nodes, nullptr);
  for (std::size_t r = 0; r < nodes; ++r) {
    if (!company.here(r)) continue;
    const StageState& stage = state(device, members[r]).stage(at);
    float* const kept = reinterpret_cast<float*>(stage.optimizer[0].data) + unsent_at;
    std::vector<float> all = read_gradients(stage, at, l, range);
    each_in_range(
        at, l, range,
        [&](const PlacedParameter& p, const Exchanged& where, std::int64_t n, std::size_t begin) {
          const std::span<float> part(all.data() + begin, static_cast<std::size_t>(n));
          add_decay(stage, layer, p, where.in_state, static_cast<int>(nodes), part);
          for (std::size_t i = 0; compression_.residuals && i < part.size(); ++i)
            part[i] += kept[static_cast<std::size_t>(where.in_state) + i];
        });
    const std::uint64_t draw =
        Random(seed_of(training_, RandomSource::Rounding),
               static_cast<std::uint64_t>(layer.model_layer))
            .bits(static_cast<std::uint64_t>(updates_ * peers() + members[r]));
    const std::vector<std::uint32_t> chosen =
        multi_sampling_top_k(all, static_cast<std::int64_t>(k), kBisectionRounds, draw);
    ShardHeader header{square_sum(all.data(), DType::F32, range.count), 0};
    std::vector<float> values;
    for (const std::uint32_t i : chosen) {
      values.push_back(all[i]);
      all[i] = 0;
    }
    header.whole = square_sum(values.data(), DType::F32, static_cast<std::int64_t>(k));
    each_in_range(
        at, l, range,
        [&](const PlacedParameter&, const Exchanged& where, std::int64_t n, std::size_t begin) {
          std::copy_n(all.data() + begin, n, kept + where.in_state);
        });
    put_shard((*packed)[r], &header, 1);
    put_shard((*packed)[r], values.data(), k);
    put_shard((*packed)[r], chosen.data(), k);
    from[r] = (*packed)[r].data();
  }
  const std::size_t bytes = sizeof(ShardHeader) + k * static_cast<std::size_t>(kSentBytes);
  return spread(company, from, std::vector<std::size_t>(nodes, bytes),
                [=, this](std::span<const std::byte* const> parts) -> TravelPtr {
                  std::vector<float> sum(static_cast<std::size_t>(range.count));
                  Combined found;
                  for (const std::byte* part : parts) {
                    const ShardHeader header = get_shard<ShardHeader>(part, 1)[0];
                    found.parts += header.parts, found.whole += header.whole;
                    const std::byte* const data = part + sizeof header;
                    const std::vector<float> values = get_shard<float>(data, k);
                    const auto indices = get_shard<std::uint32_t>(data + k * sizeof(float), k);
                    for (std::size_t i = 0; i < k; ++i) sum[indices[i]] += values[i];
                  }
                  for (std::size_t r = 0; r < nodes; ++r) {
                    if (!company.here(r)) continue;
                    write_gradients(state(device, members[r]).stage(at), at, l, range, sum);
                    of_shards_[at][l][static_cast<std::size_t>(members[r])] = found;
                  }
                  static_cast<void>(packed);  // in which the parts of this process lie
                  return nullptr;
                });
}

// Replicas of a node give each other their shards.
TravelPtr CpuExecution::gather_in_node(const At& a, std::span<const int> members) {
  const std::size_t l = plan_.layer_of(a.task.layer), at = a.place, ranks = members.size();
  const DeviceId device = a.device.device();
  const Company company = company_of(a, members);
  const std::int64_t n = compressed_elements(at, l);
  const auto packed = std::make_shared<ShardBytes>(ranks);
  std::vector<const std::byte*> from(ranks, nullptr);
  std::vector<std::size_t> bytes;
  for (std::size_t r = 0; r < ranks; ++r) {
    const PartRange range = slice_of(n, r, ranks);
    bytes.push_back(sizeof(ShardHeader) + static_cast<std::size_t>(range.count) * sizeof(float));
    if (!company.here(r)) continue;
    const Combined& own = of_shards_[at][l][static_cast<std::size_t>(members[r])];
    const ShardHeader header{own.parts, own.whole};
    const std::vector<float> shard =
        read_gradients(state(device, members[r]).stage(at), at, l, range);
    put_shard((*packed)[r], &header, 1);
    put_shard((*packed)[r], shard.data(), shard.size());
    from[r] = (*packed)[r].data();
  }
  const auto take = [=, this](std::span<const std::byte* const> parts) -> TravelPtr {
    Combined found;
    for (std::size_t r = 0; r < ranks; ++r) {
      const ShardHeader header = get_shard<ShardHeader>(parts[r], 1)[0];
      found.parts += header.parts, found.whole += header.whole;
      const PartRange range = slice_of(n, r, ranks);
      const std::vector<float> shard =
          get_shard<float>(parts[r] + sizeof header, static_cast<std::size_t>(range.count));
      for (std::size_t own = 0; own < ranks; ++own)
        if (own != r && company.here(own))
          write_gradients(state(device, members[own]).stage(at), at, l, range, shard);
    }
    // All nodes have found the same, of which the first tells.
    if (members[0] == 0 && company.here(0)) combined_[at][l] = found;
    static_cast<void>(packed);  // in which the parts of this process lie
    return nullptr;
  };
  return spread(company, from, bytes, take);
}

}  // namespace trainyard

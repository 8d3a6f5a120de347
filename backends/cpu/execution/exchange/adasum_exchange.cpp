#include "backends/cpu/execution/exchange/adasum_exchange.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "core/training/adasum.h"

namespace trainyard {
namespace {

// Returns the part of n elements that the member holds after so many levels.
PartRange held_after(std::int64_t n, std::size_t member, std::size_t levels) {
  PartRange part{0, n};
  for (std::size_t level = 0; level < levels; ++level) {
    const std::int64_t low = part.count / 2;
    const bool upper = (member >> level & 1) != 0;
    part = {part.first + (upper ? low : 0), upper ? part.count - low : low};
  }
  return part;
}

// One exchange with the partner at each level; the vectors, and what is on its way.
struct AdasumTravel {
  Company company;
  AdasumVectors vectors;
  double* squares = nullptr;
  std::vector<std::vector<float>> sent = {}, come = {};  // by member
  std::vector<std::vector<AdasumDots>> dots = {};        // by member, then tensor
  std::vector<std::vector<AdasumWeights>> weights = {};  // as above

  std::size_t levels() const {
    std::size_t count = 0;
    while (std::size_t{1} << count < company.members) ++count;
    return count;
  }
  bool averages(std::size_t level) const { return std::int64_t{1} << level < vectors.mean_ranks; }
  template <class F>
  void each_here(F&& f) const {
    for (std::size_t m = 0; m < company.members; ++m)
      if (company.here(m)) f(m);
  }
  // Calls f(tensor, the numbers of its part) for what the member holds after so many levels.
  template <class F>
  void each_held(std::size_t of, std::size_t member, std::size_t levels, F&& f) const {
    std::int64_t first = 0;
    for (std::size_t t = 0; t < vectors.tensors.size(); ++t) {
      const PartRange part = held_after(vectors.tensors[t], member, levels);
      f(t, std::span(vectors.of[of] + first + part.first, static_cast<std::size_t>(part.count)));
      first += vectors.tensors[t];
    }
  }
  std::size_t bytes_held(std::size_t member, std::size_t levels) const {
    std::int64_t count = 0;
    for (const std::int64_t n : vectors.tensors) count += held_after(n, member, levels).count;
    return static_cast<std::size_t>(count) * sizeof(float);
  }
};
using AdasumTravelPtr = std::shared_ptr<AdasumTravel>;

// Gives the partner at that level what it holds after `levels` levels, of the giver's vector, and
// calls `then` once what came is in `come`.
TravelPtr exchange_parts(const AdasumTravelPtr& s, std::size_t level, bool partners_part,
                         std::size_t levels, std::function<TravelPtr()> then) {
  const std::size_t distance = std::size_t{1} << level;
  s->sent.resize(s->company.members), s->come.resize(s->company.members);
  s->each_here([&](std::size_t m) {
    std::vector<float>& packed = s->sent[m];
    packed.clear();
    s->each_held(m, partners_part ? m ^ distance : m, levels,
                 [&](std::size_t, std::span<const float> part) {
                   packed.insert(packed.end(), part.begin(), part.end());
                 });
  });
  return deal(
      s->company,
      [s, distance](std::size_t from, std::size_t to) {
        return (from ^ distance) == to ? std::as_bytes(std::span(s->sent[from]))
                                       : std::span<const std::byte>{};
      },
      [s, distance, partners_part, levels](std::size_t from, std::size_t to) {
        return (from ^ distance) == to ? s->bytes_held(partners_part ? to : from, levels) : 0;
      },
      [s, distance, then = std::move(then)](const Dealt& dealt) {
        s->each_here([&](std::size_t m) {
          const std::span<const std::byte> part = dealt(m ^ distance, m);
          s->come[m].resize(part.size() / sizeof(float));
          if (!part.empty()) std::memcpy(s->come[m].data(), part.data(), part.size());
        });
        return then();
      });
}

// Calls f(tensor, own part, the partner's), lower rank first, for a member after an exchange.
template <class F>
void each_pair(const AdasumTravel& s, std::size_t m, std::size_t level, F&& f) {
  std::size_t at = 0;
  const bool lower = (m >> level & 1) == 0;
  s.each_held(m, m, level + 1, [&](std::size_t t, std::span<float> own) {
    const std::span<const float> other = std::span(s.come[m]).subspan(at, own.size());
    at += own.size();
    f(t, lower ? std::span<const float>(own) : other, lower ? other : own, own);
  });
}

TravelPtr halve(const AdasumTravelPtr& s, std::size_t level);

TravelPtr combine_halves(const AdasumTravelPtr& s, std::size_t level) {
  s->each_here([&](std::size_t m) {
    each_pair(*s, m, level, [&](std::size_t t, auto a, auto b, std::span<float> into) {
      add_weighted(s->averages(level) ? AdasumWeights{0.5, 0.5} : s->weights[m][t], a, b, into);
    });
  });
  return halve(s, level + 1);
}

// The sums of a pair are those of all members that hold parts of it, whose ranks agree above the
// level.
TravelPtr add_up_dots(const AdasumTravelPtr& s, std::size_t level) {
  const std::size_t members = s->company.members, tensors = s->vectors.tensors.size();
  s->dots.resize(members), s->weights.resize(members);
  std::vector<const std::byte*> from(members, nullptr);
  s->each_here([&](std::size_t m) {
    s->dots[m].assign(tensors, {});
    each_pair(*s, m, level, [&](std::size_t t, auto a, auto b, std::span<float>) {
      s->dots[m][t] = adasum_dots(a, b);
    });
    from[m] = reinterpret_cast<const std::byte*>(s->dots[m].data());
  });
  return spread(
      s->company, from, std::vector<std::size_t>(members, tensors * sizeof(AdasumDots)),
      [s, level, members, tensors](std::span<const std::byte* const> parts) {
        std::vector<AdasumDots> sums((members >> (level + 1)) * tensors);
        for (std::size_t m = 0; m < members; ++m)
          for (std::size_t t = 0; t < tensors; ++t) {
            AdasumDots one;
            std::memcpy(&one, parts[m] + t * sizeof one, sizeof one);
            sums[(m >> (level + 1)) * tensors + t] += one;
          }
        if (std::int64_t{1} << level == s->vectors.mean_ranks) {
          *s->squares = 0;
          for (const AdasumDots& sum : sums) *s->squares += sum.a + sum.b;
        }
        s->each_here([&](std::size_t m) {
          s->weights[m].clear();
          for (std::size_t t = 0; t < tensors; ++t)
            s->weights[m].push_back(adasum_weights(sums[(m >> (level + 1)) * tensors + t]));
        });
        return combine_halves(s, level);
      });
}

TravelPtr halve(const AdasumTravelPtr& s, std::size_t level) {
  if (level == s->levels()) return nullptr;
  return exchange_parts(s, level, true, level + 1, [s, level] {
    return s->averages(level) ? combine_halves(s, level) : add_up_dots(s, level);
  });
}

// Members that hold parts after `levels` levels give them to each other.
TravelPtr gather_halves(const AdasumTravelPtr& s, std::size_t levels) {
  if (levels == 0) return nullptr;
  const std::size_t level = levels - 1, distance = std::size_t{1} << level;
  return exchange_parts(s, level, false, levels, [s, levels, distance] {
    s->each_here([&](std::size_t m) {
      const float* from = s->come[m].data();
      s->each_held(m, m ^ distance, levels, [&](std::size_t, std::span<float> part) {
        std::copy_n(from, part.size(), part.begin());
        from += part.size();
      });
    });
    return gather_halves(s, levels - 1);
  });
}

}  // namespace

TravelPtr adasum_halves(const Company& company, AdasumVectors vectors, double& squares) {
  squares = 0;
  return halve(std::make_shared<AdasumTravel>(AdasumTravel{company, std::move(vectors), &squares}),
               0);
}

TravelPtr adasum_gather(const Company& company, AdasumVectors vectors) {
  const auto s = std::make_shared<AdasumTravel>(AdasumTravel{company, std::move(vectors)});
  return gather_halves(s, s->levels());
}

TravelPtr adasum_whole(const Company& company, AdasumVectors vectors, double& squares) {
  const auto s =
      std::make_shared<AdasumTravel>(AdasumTravel{company, std::move(vectors), &squares});
  const std::size_t bytes = s->bytes_held(0, 0);
  std::vector<const std::byte*> from(company.members, nullptr);
  s->each_here([&](std::size_t m) { from[m] = reinterpret_cast<std::byte*>(s->vectors.of[m]); });
  return spread(company, from, std::vector<std::size_t>(company.members, bytes),
                [s, bytes](std::span<const std::byte* const> parts) -> TravelPtr {
                  std::vector<std::vector<float>> copies;
                  std::vector<std::span<float>> ranks;
                  for (const std::byte* part : parts) {
                    std::vector<float>& copy = copies.emplace_back(bytes / sizeof(float));
                    if (bytes > 0) std::memcpy(copy.data(), part, bytes);
                  }
                  for (std::vector<float>& copy : copies) ranks.emplace_back(copy);
                  *s->squares = adasum_tree(ranks, s->vectors.tensors, s->vectors.mean_ranks);
                  s->each_here([&](std::size_t m) {
                    std::copy(copies[0].begin(), copies[0].end(), s->vectors.of[m]);
                  });
                  return nullptr;
                });
}

}  // namespace trainyard

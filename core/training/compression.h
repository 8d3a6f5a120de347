// Gradient compression sends the largest parts of a gradient and keeps the rest for later steps.
// Each replica adds its gradient to what it has not sent yet, sends the k largest elements with
// their indices, and forgets these. Under momentum it is the velocity that is added up, so that a
// part that waits for many steps arrives with the momentum it would have had (momentum correction).
//
//   u <- mu u + g     v <- v + u     send v where it is largest     u, v <- 0 where it was sent
//
// Lin et al., "Deep Gradient Compression", ICLR 2018 (dgc); Shi et al., "Towards Scalable
// Distributed Training of Deep Learning on Public Cloud Clusters", MLSys 2021 (mstopk).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace trainyard {

/// Returns the share that is sent in a step, the first being 0: c^(step + 1) with c = base^(1 /
/// (warmup + 1)) while a warm-up of so many steps lasts, and never less than the base.
double ratio_at(double base, std::int64_t warmup, std::int64_t step);

/// Returns the indices of the k largest by size, in order; of equal ones the first. NaN counts as
/// larger than every number. 0 <= k <= values.size().
std::vector<std::uint32_t> top_k(std::span<const float> values, std::int64_t k);
/// Selects by counting: so many rounds of bisection between the mean size and the largest (or,
/// where fewer than k lie above the mean, between 0 and the mean) find a threshold above which at
/// most k lie, and one above which more do; neighbours of the band between the two fill up to k,
/// from `start` on, modulo the places where they can begin. Always exactly k.
std::vector<std::uint32_t> multi_sampling_top_k(std::span<const float> values, std::int64_t k,
                                                int rounds, std::uint64_t start);

/// Momentum correction: u <- mu u + g, v <- v + u; Nesterov's looks ahead by one velocity: u <- mu
/// (u + g), v <- v + u + g. All have one length.
void correct_momentum(std::span<const float> g, float momentum, bool nesterov, std::span<float> u,
                      std::span<float> v);
/// Returns the factor on a gradient of that norm, so that the sum of `replicas` independent ones
/// stays within the threshold: threshold / sqrt(replicas) is the most that one may have. 1 where
/// the threshold is 0.
double local_clip(double norm, double threshold, std::int64_t replicas);

}  // namespace trainyard

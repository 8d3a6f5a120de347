// This file says how a plan compresses the gradients that its data-parallel replicas exchange
// (compression.cpp), for those that execute or count it.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/methods/layers/body.h"
#include "core/model/model.h"
#include "core/plan/plan.h"

namespace trainyard {

enum class Compress : std::uint8_t { None, Dgc, TopK, MsTopK, HiTopK };

inline constexpr std::string_view kCompression = "compression";
inline constexpr std::string_view kCompressionKind = "kind";  // its parameter
inline constexpr std::string_view kNoCompression = "none";
/// Rounds of bisection by which MSTopK finds its thresholds, as published.
inline constexpr int kBisectionRounds = 30;
/// A sent element is a 4-byte value and a 4-byte index.
inline constexpr std::int64_t kSentBytes = 8;

struct Compression {
  Compress how = Compress::None;
  double ratio = 0.001;     // share of a tensor's elements that is sent after the warm-up
  std::int64_t warmup = 0;  // steps over which the share falls from 1 to it
  bool residuals = true;    // what is not sent is added to later gradients; false: it is lost
  bool masking = true;      // dgc: the momentum of what was sent is forgotten
  friend bool operator==(const Compression&, const Compression&) = default;
};
/// Nothing is compressed where a complete plan has one replica or does not choose the method.
Compression compression_of(const Plan&);

/// Returns how many of so many elements are sent: ratio x elements, rounded up, at least 1 of any.
std::int64_t sent_elements(std::int64_t elements, double ratio);
/// Number of trained parameters of a layer by how replicas exchange their gradients, and of those
/// that one of them sends.
struct CompressedLayer {
  std::int64_t whole = 0;       // of one dimension: biases and norms, which stay dense
  std::int64_t compressed = 0;  // of two dimensions and more
  std::int64_t sent = 0;        // of these after the warm-up
};
CompressedLayer compressed_layer(const Body&, const Model&, const Layout&, double ratio);

/// Returns the number of ranks at which messages of compressed gradients are as long as those of
/// the whole ones: a ring moves 2 (P - 1) / P of the dense bytes, an all-gather P - 1 times what
/// one rank sends. 0 where nothing is sent.
double break_even_ranks(double dense_bytes, double sent_bytes);

/// Returns how many replicas of one node hitopk divides a gradient over; 1 for other kinds.
std::int64_t dividing_replicas(const Plan&, const Cluster&);
/// Returns how many elements of a layer's gradient a replica sends under hitopk: of its shard.
std::int64_t shard_elements_sent(const CompressedLayer&, std::int64_t dividing, double ratio);

/// Returns what arrives of all replicas while the gradients of one layer with so many trained
/// parameters are exchanged.
Bytes arriving_bytes(const Plan&, const Cluster&, std::int64_t parameters);

}  // namespace trainyard

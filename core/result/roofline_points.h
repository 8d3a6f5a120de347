// This file computes the roofline of a plan (Williams, Waterman and Patterson, CACM 52(4), 2009):
// what its device and links can reach at each intensity, and where each kind of work of the plan
// lies beneath. Links have roofs too, on an axis of their own.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/cost/cost_model.h"
#include "core/lowering/lower.h"

namespace trainyard {

/// A ComputeRoof is the FLOP/s that a device can reach in one format at any intensity.
struct ComputeRoof {
  std::string formats;  // "bf16, fp16": the formats with this figure
  FlopsPerSecond datasheet{};
  FlopsPerSecond effective{};  // what the cost model's products reach
  bool used = false;           // whether a point of this plan uses it
};

/// For a SlopeRoof, FLOP/s = intensity x rate.
struct SlopeRoof {
  std::string name;  // "HBM3", "NVLink4+NVSwitch", "network"
  BytesPerSecond datasheet{};
  BytesPerSecond effective{};
};

/// A RooflinePoint is one kind of work: the sum of all its calls in a step on one device of each
/// pipeline rank.
struct RooflinePoint {
  std::string name;  // "q_proj", "gate_proj, up_proj weight gradient", "optimizer"
  WorkKind kind = WorkKind::Elementwise;
  Pass pass = Pass::Forward;
  bool recomputed = false;
  DType math = DType::F32;
  Flops flops{};
  Bytes bytes{};  // read and written
  Duration time{};
  double share = 0;  // share of all compute time of the same devices, in [0, 1]
  std::int64_t calls = 0;
  double intensity() const { return flops.value / static_cast<double>(bytes.value); }
  FlopsPerSecond achieved() const { return {flops.value / to_seconds(time)}; }
};

/// A LinkPoint is everything that one kind of group sends in a step, compared with all the
/// computation of the step.
struct LinkPoint {
  std::string name;       // "tensor", "pipeline"
  std::size_t level = 0;  // level of the cluster: index into Roofline::links
  Flops flops{};          // of the whole step on the same devices
  Bytes bytes{};          // bytes that the devices send when ring algorithms are used
  Duration time{};        // of the communication, alone on its link
  double intensity() const { return flops.value / static_cast<double>(bytes.value); }
};

struct Roofline {
  std::vector<ComputeRoof> compute;  // highest first
  SlopeRoof memory;
  std::vector<SlopeRoof> links;       // one per cluster level
  std::vector<RooflinePoint> points;  // most time first; only what has FLOPs and bytes
  std::vector<RooflinePoint> bare;  // work that takes time without FLOPs or bytes, most time first
  std::vector<LinkPoint> traffic;   // most bytes first
  FlopsPerSecond busy{};            // all FLOPs over all compute time
};

/// rank is one pipeline rank; empty = all of them together, of a mixed cluster those on its first
/// kind of devices. Roofs and times are those of the kind.
Roofline roofline(const Workload&, const CostModel&, std::optional<DeviceId> rank = {});

/// A RooflineBound is the lowest roof over a point and how far below it the point lies.
struct RooflineBound {
  std::string roof;  // "bf16 compute", "HBM3"
  FlopsPerSecond attainable{};
  double gap = 1;  // attainable over achieved
};
RooflineBound bound(const Roofline&, const RooflinePoint&);

/// Returns the bytes that each rank of a ring sends for the collective on `bytes` (as counted by
/// CostModel::collective()).
Bytes sent_bytes(CollectiveKind, Bytes bytes, std::int64_t ranks);

}  // namespace trainyard

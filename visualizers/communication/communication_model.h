// Who sends how much to whom: the messages of a step, device to device. Collectives are taken as
// the ring that goes through their group in the order of its members, all-to-alls as one message to
// each other member, whatever algorithm they are priced with; both carry the same bytes a device.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/cost/cost_model.h"
#include "core/plan/mesh_axes.h"
#include "core/result/experiment.h"

namespace trainyard {

/// One kind of call that the devices of a pipeline rank make again and again.
struct CommunicationFlow {
  TaskKind kind = TaskKind::Collective;  // or Send
  CollectiveKind collective = CollectiveKind::AllReduce;
  Group group = Group::Data;
  DeviceId from, to;       // pipeline ranks; `to` of messages and of copies only
  std::int64_t ranks = 2;  // of the group
  MeshAxes axes;           // in which it lies; none of messages and of copies
  Bytes each{};            // as CostModel::collective() counts them; a message's own
  double calls = 0;        // a step
  // Of one device in a step, to all others together.
  double bytes = 0, messages = 0, seconds = 0;                // seconds: alone on its link
  Duration time{};                                            // of one call
  CollectiveAlgorithm algorithm = CollectiveAlgorithm::Ring;  // that is priced
  std::size_t level = 0;  // of the cluster, whose links it takes most time on
};
std::string flow_name(const CommunicationFlow&);  // "data all-reduce", "pipeline message"
/// The first is the rate that a user waits for, the second compares with a link's rate
/// (core/cost/collectives/bus_bandwidth.h); of a message both are its rate.
BytesPerSecond algorithm_bandwidth(const CommunicationFlow&);
BytesPerSecond bus_bandwidth(const CommunicationFlow&);

/// How far apart two devices are: the lowest level of links that joins both.
struct CommunicationLevel {
  std::string name;
  std::int64_t size = 1;       // devices
  BytesPerSecond bandwidth{};  // datasheet, per device and direction
};

struct CommunicationModel {
  std::int64_t devices = 0, per_node = 1, pipeline_stride = 1, shard = 1;
  Mesh mesh;
  std::vector<CommunicationLevel> levels;
  std::vector<CommunicationFlow> flows;  // by pipeline rank, then most bytes first
  std::vector<std::size_t> first;        // of each pipeline rank's flows; one more at the end
};
DeviceId rank_of(const CommunicationModel&, std::int64_t device);  // its pipeline rank
/// Linear in the instructions.
CommunicationModel communication_model(const Experiment&, const CostModel&);
/// What the links of a call could carry, for its bus bandwidth to be held against: of one member
/// and direction. A ring through several nodes crosses their borders over the ports of all its
/// members of a node together, as far as the links within the node keep up.
BytesPerSecond link_rate(const CommunicationModel&, const CommunicationFlow&);

/// All that one device sends another in a step.
struct PairTraffic {
  std::int64_t to = 0;
  double bytes = 0, messages = 0, seconds = 0;
};
/// By receiver. What a flow sends to a device itself is left out.
std::vector<PairTraffic> sent_by(const CommunicationModel&, std::int64_t device);
/// The flows between two devices.
std::vector<const CommunicationFlow*> flows_between(const CommunicationModel&, std::int64_t from,
                                                    std::int64_t to);
const CommunicationLevel& level_between(const CommunicationModel&, std::int64_t a, std::int64_t b);

enum class TrafficQuantity : std::uint8_t { Sent, Messages, Time, Bandwidth };
inline constexpr int kTrafficQuantities = 4;
std::string_view to_string(TrafficQuantity);  // "bytes"
double quantity_of(const PairTraffic&, TrafficQuantity);
std::string quantity_text(double, TrafficQuantity);

/// Square cells of the same number of devices each way.
struct TrafficCell {
  PairTraffic sum;                // of all its pairs
  std::int64_t from = 0, to = 0;  // the pair with the most of the quantity
  double most = 0;                // of the quantity
  std::int64_t pairs = 0;         // that send anything
};
struct TrafficGrid {
  TrafficQuantity quantity = TrafficQuantity::Sent;
  std::int64_t per_cell = 1;
  std::size_t cells = 0;               // a side
  std::vector<TrafficCell> cell;       // senders down, receivers across
  double bytes = 0, inside = 0;        // of all pairs, and of those within a node
  std::vector<double> sent, received;  // bytes, messages or time, by cell; bandwidth: bytes
};
/// At most that many cells a side, whole nodes or even parts of them where they hold several
/// devices. Every pair is counted.
TrafficGrid traffic_grid(const CommunicationModel&, TrafficQuantity, std::size_t most_cells);

}  // namespace trainyard

// A Device is an accelerator as its datasheet and measurements describe it; every number states its
// source.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/units.h"
#include "core/model/dtype.h"

namespace trainyard {

/// A Sourced value is a number with its source in words: "datasheet", "stored page ...", "fitted on
/// published runs (A100 rows)".
template <class T>
struct Sourced {
  T value{};
  std::string source;
  friend bool operator==(const Sourced&, const Sourced&) = default;
};

/// Topology says how the devices that a level of links joins are wired to each other.
enum class Topology : std::uint8_t {
  Switch,   // every pair at full rate (NVSwitch, a non-blocking leaf)
  Mesh,     // direct links to every other member, each with a part of the rate
  Rail,     // device i of a node reaches device i of every other node through switch i
  FatTree,  // leaf and spine switches; traffic that leaves a node is slowed by the oversubscription
            // factor
  Torus,    // rings along each dimension; their links share the rate evenly
  CubeMesh,   // the 8 devices of a DGX-1 (core/network/cube_mesh.h); priced as a switch
  Dragonfly,  // groups of routers (core/network/dragonfly.h); priced as if nothing were narrow
};
std::string_view to_string(Topology);  // "switch", "mesh", "rail", "fat-tree", "torus",
                                       // "cube-mesh", "dragonfly"

/// Efficiency holds the shares of datasheet figures that real kernels reach, in (0, 1]. There is
/// one set per device family, and each share has a physical meaning.
struct Efficiency {
  Sourced<double> product{0.6, "assumed"};     // 16-bit matrix products, of the dense peak
  Sourced<double> eight_bit{0.94, "assumed"};  // of `product`, when the operands are 8 bit
  Sourced<double> tf32{0.87, "assumed"};       // of `product`, when the operands are TF32
  Sourced<double> attention{0.3, "assumed"};   // fused attention, of the dense peak
  Sourced<double> memory{0.74, "assumed"};     // streaming access, of the memory bandwidth
  Sourced<double> scale_up{0.7, "assumed"};    // bus bandwidth of reductions inside a node, of the
                                               // links' datasheet rate
  Sourced<double> network{0.45, "assumed"};  // the same between nodes, of the ports' datasheet rate
  Sourced<double> send{0.98, "assumed"};     // one message between two nodes, of the port's rate
  Sourced<double> all_to_all{0.52, "assumed"};  // of the datasheet rate of the links, inside a node
                                                // or between nodes
  friend bool operator==(const Efficiency&, const Efficiency&) = default;
};

/// A Peak is a peak rate for dense matrices, never for sparse ones.
struct Peak {
  DType type = DType::F32;
  Sourced<FlopsPerSecond> rate;
  friend bool operator==(const Peak&, const Peak&) = default;
};

struct Device {
  std::string id;    // "h100-sxm"
  std::string name;  // "H100 SXM5"
  std::string vendor;
  int year = 0;
  Sourced<Bytes> memory;    // what the driver reports, not the name on the card
  std::string memory_kind;  // "HBM3"
  Sourced<BytesPerSecond> memory_bandwidth;
  std::vector<Peak> peaks;  // a handful, at most one per format; a format without an entry is not
                            // supported
  Sourced<BytesPerSecond> scale_up;  // per device and direction, inside its scale-up domain
  std::string scale_up_kind;         // "NVLink4+NVSwitch"
  Topology scale_up_topology = Topology::Switch;
  int scale_up_dimensions = 0;         // Torus: 2 or 3; else 0
  std::int64_t scale_up_domain = 1;    // most devices that reach each other over these links
  Sourced<Duration> scale_up_latency;  // one message, one hop
  Sourced<BytesPerSecond> host_link;   // per direction
  Sourced<BytesPerSecond> network;     // NIC rate per device and direction
  Sourced<Duration> network_latency;   // one message between two nodes
  Sourced<Duration> launch;            // cost of starting one kernel
  Sourced<Duration> message_start;     // cost of starting one collective or send, before its first
                                       // byte
  Sourced<Bytes> context;     // taken by the driver and libraries before any tensor exists (an
                              // estimate)
  Sourced<Watts> power;       // board limit; value 0 = not stated
  Sourced<Watts> idle_power;  // while it holds a job's memory and runs no kernel; 0 = not stated
  std::optional<Sourced<double>> price_low, price_high;  // US dollars per device hour
  Efficiency efficiency;
  int units = 0;  // streaming multiprocessors or their equivalent; 0 = not stated
  /// Bytes that its memory moves over those of the tensors, where it stores numbers without loss in
  /// fewer bits (core/training/numbers/boveda.h); 1 = it stores them as they are. Capacities do not
  /// count on it, because the ratio of the worst tile decides what fits.
  Sourced<double> compression{1, "stored as they are"};
  /// The probability that a bit of the memory reads wrong, in [0, 0.5]: memory at a voltage below
  /// what its maker asks for saves energy and has some (Stutz et al., "Bit Error Robustness for
  /// Energy-Efficient DNN Accelerators", MLSys 2021). 0 = at its proper voltage.
  Sourced<double> bit_errors{0, "at its proper voltage"};
  // Its memory lies beside its arithmetic, as the SRAM of a mesh of small cores: weights stay
  // there, each core multiplies those that it holds, and a product has no tiles to fill and drain,
  // so that one sample is as fast as each of many. The memory then delivers an operand for each
  // multiply-add.
  bool on_chip_memory = false;
  friend bool operator==(const Device&, const Device&) = default;
};

/// Returns the dense peak for products in that format. Where the datasheet has no figure for TF32
/// or Flex16, F32 is used; where it has none for 8 bit with row or block scales, F8 is used. Throws
/// Error{Unsupported} naming the device, the format and the formats that the device has.
FlopsPerSecond peak(const Device&, DType);
/// Returns whether peak() has an answer, that is, does not throw.
bool supports(const Device&, DType);

/// Returns whether switches inside its scale-up domain add up the data that passes them, as
/// NVSwitch does since its third generation.
bool switches_reduce(const Device&);

/// The most that `compression` may be: storing without loss takes a few bits more at worst.
inline constexpr double kMostCompression = 2;
/// The most that `bit_errors` may be, where a bit says nothing.
inline constexpr double kMostBitErrors = 0.5;
/// Returns the bytes of tensors that the memory moves in a second by its datasheet.
inline BytesPerSecond tensor_bandwidth(const Device& d) {
  return {d.memory_bandwidth.value.value / d.compression.value};
}

/// Returns the catalogue, ordered by vendor and then by generation; every number of a row has a
/// source.
std::span<const Device> devices();
/// Accepts ids such as "h100-sxm" and aliases ("h100", "a100-80gb"), in any case. The reference
/// stays valid for the life of the program. Throws Error{InvalidInput} with the nearest names.
const Device& device(std::string_view id);

}  // namespace trainyard

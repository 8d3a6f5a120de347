// A Device is an accelerator as its datasheet and its measurements describe it; every number says where it is from.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/units.h"
#include "core/model/dtype.h"

namespace trainyard {

/// A number with its source in words: "datasheet", "stored page ...", "fitted on published runs (A100 rows)".
template <class T>
struct Sourced {
  T value{};
  std::string source;
};

/// Shares of a datasheet figure that real kernels reach, (0, 1]; named, physical, one set per device family.
struct Efficiency {
  Sourced<double> product{0.7, ""};        // matrix products in 16 bit, of the dense peak
  Sourced<double> attention{0.37, ""};     // fused attention, of the dense peak
  Sourced<double> memory{0.74, ""};        // streams, of the memory bandwidth
  Sourced<double> scale_up{0.8, ""};       // collectives inside a node, of the link's datasheet rate
  Sourced<double> network{0.45, ""};       // collectives between nodes, of the port's datasheet rate
};

struct Device {
  std::string id;      // "h100-sxm"
  std::string name;    // "H100 SXM5"
  std::string vendor;
  int year = 0;
  Sourced<Bytes> memory;                    // what the driver reports, not the name on the card
  std::string memory_kind;                  // "HBM3"
  Sourced<BytesPerSecond> memory_bandwidth;
  std::map<DType, Sourced<FlopsPerSecond>> peak;  // dense, never sparse; a format that is absent is not supported
  Sourced<BytesPerSecond> scale_up;         // per device and direction, inside its scale-up domain
  std::string scale_up_kind;                // "NVLink4+NVSwitch"
  int scale_up_domain = 1;                  // devices that reach each other over it
  Sourced<BytesPerSecond> host_link;        // per direction
  Sourced<BytesPerSecond> network;          // NIC rate per device and direction
  Sourced<Duration> launch;                 // cost of starting one kernel
  Sourced<Bytes> context;                   // taken by the driver and libraries before any tensor exists (guessed)
  Sourced<Watts> power;                     // board limit; value 0 = not stated
  std::optional<Sourced<double>> price_low, price_high;  // US dollars per device hour
  Efficiency efficiency;
  int units = 0;                            // streaming multiprocessors or their like; 0 = not stated
};

/// The dense peak for products in that format. Falls back only where the datasheet says so by having no own figure:
/// TF32 to F32. Throws Error{Unsupported} naming device, format and the formats it has.
FlopsPerSecond peak(const Device&, DType);
bool supports(const Device&, DType);

/// The catalogue, in the order of release; each row with a source per number.
std::span<const Device> devices();
/// Accepts "h100-sxm" and aliases ("h100", "a100-80gb"). Throws Error{InvalidInput} with the nearest names.
const Device& device(std::string_view id);

}  // namespace trainyard

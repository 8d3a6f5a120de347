// This file has a cost model made of measurements: kernels by shape, copies and collectives, as
// `calibrate` writes them of this machine, or of the device of a recorded run. A measured shape
// costs its measured time. Another shape is interpolated by its arithmetic and traffic between its
// neighbours of the same kernel, and the error band widens with the distance of the neighbours; or
// it is priced by trees that learned from all kernels (core/cost/kernels/learned_kernels.h).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/cost/cost_model.h"
#include "core/cost/kernels/kernel_timing.h"
#include "core/cost/kernels/kernel_variants.h"

namespace trainyard {

/// A TransferTiming is a straight line through measured messages: time = start + bytes / rate.
struct TransferTiming {
  Duration start{};
  BytesPerSecond rate{};
};

/// An ExchangeTiming is what processes take for a collective, or for a message from one to another,
/// as a run over processes executes it. All groups of so many ranks were busy at once.
struct ExchangeTiming {
  std::optional<CollectiveKind> collective;  // empty = a message
  std::int64_t ranks = 2;
  Bytes bytes{};              // as CostModel::collective() counts them
  Duration time{};            // median, until the last rank was done
  std::int64_t per_node = 0;  // ranks of the group that are in one node; 0 = not stated, so that it
                              // prices groups within a node and across nodes
};

/// ExposedCommunication is the share of a run's communication during which its rank computed
/// nothing.
struct ExposedCommunication {
  std::optional<CollectiveKind> collective;  // empty: all communication of the run
  std::int64_t ranks = 0;                    // of its groups; 0 = not stated
  double share = 0;                          // in [0, 1]
};

/// MeasuredContention is how much longer one kind of work took beside work of the other sort:
/// computation beside communication, or the reverse. Only work that ran alike both ways, and wholly
/// one way or the other, is compared.
struct MeasuredContention {
  std::string of;            // "products", "element-wise"; kCommunicates for the reverse
  double factor = 1;         // what those beside took in all, over what they take apart
  double spread = 0;         // half of the interquartile range of single ones, as a share of the
                             // factor
  std::int64_t kernels = 0;  // those that ran beside
  Duration time{};           // what they take apart
};
inline constexpr std::string_view kCommunicates = "communication";

/// Returns the share of CostModel::contention() for these. While both run, computation is slowed by
/// the factor f (of all its kinds, each weighted by its time) and communication by g (where it was
/// not measured, as computation): what communication of time t hides behind longer computation
/// makes this longer by t g (1 - 1/f). Empty where nothing of computation was measured; never below
/// 0.
std::optional<double> contention_of(const std::vector<MeasuredContention>&);

/// OtherShapes says how kernels are priced at shapes that were not measured.
enum class OtherShapes : std::uint8_t { Interpolated, Learned };

struct Calibration {
  std::string machine;  // "AMD EPYC ..., 2 cores, oneDNN 2.6.3"; where it comes from
  std::string device;  // of the catalogue, whose recorded run it is; empty = a core of this machine
  std::vector<KernelTiming> kernels;
  Duration overhead{};      // what an executor adds to every kernel: looking up operands, memory,
                            // clocks
  TransferTiming copy;      // between two arenas
  BytesPerSecond reduce{};  // rate of adding up gradients
  Duration issue{};  // what the host takes to issue a kernel, with its share of all other time that
                     // a device waits for it in a step; 0 = not recorded
  double reserve = 0;  // memory that was reserved over what was allocated at the peak, at least 1;
                       // 0 = not recorded
  std::vector<ExchangeTiming> exchanges;  // between processes; empty = devices are of one process
  std::vector<ExposedCommunication> exposed;       // of the run that was recorded
  std::vector<MeasuredContention> contention;      // of the same; empty = not measured
  double residual_median = 0, residual_worst = 0;  // errors of the calibration's own check, as
                                                   // shares
  std::vector<std::string> notes;
  std::vector<ExchangeTiming> held_back;  // exchanges of other sizes, which no price was made of
  OtherShapes other_shapes = OtherShapes::Interpolated;
  std::vector<VariantTiming> variants;  // of kernels of this machine that can be computed in
                                        // several ways; empty = not measured
};

class LearnedKernels;
/// Returns what is learned from the kernels of the calibration, beyond the same formula as the cost
/// models below. Throws Error{InvalidInput} for fewer shapes than can be learned from.
std::shared_ptr<const LearnedKernels> learned_kernels(const Calibration&, const CostModel* base,
                                                      const Device&);

/// Returns what the model says an exchange of this kind, size and number of ranks takes.
Duration exchange_price(const CostModel&, const ExchangeTiming&, const Cluster&);

/// The model keeps a copy of the calibration. For a kernel that was never measured it falls back to
/// core/cost/local_core.h, and leaves_out() says so. If the calibration says that other shapes are
/// learned, it learns them here, and throws as learned_kernels() does.
std::unique_ptr<CostModel> calibrated_cost_model(Calibration);
/// Prices another device: `base` says what a kernel or a collective takes that was not measured,
/// and how measured ones are carried to other sizes.
std::unique_ptr<CostModel> calibrated_cost_model(Calibration, std::shared_ptr<const CostModel> base,
                                                 const Device&);

}  // namespace trainyard

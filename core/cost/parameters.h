// The named parameters of the physical cost model: every number that is neither a datasheet figure
// nor arithmetic, each with the value that ships, what was believed before any row was looked at,
// and what it means. All of them stand in parameters.cpp; `trainyard hardware NAME --explain`
// prints those that a device reads, `trainyard calibrate --rows` fits them to one's own rows.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace trainyard {

enum class Parameter : std::uint8_t {
  // Share of the dense 16-bit peak that large products sustain, by generation.
  ProductVolta,
  ProductAmpere,
  ProductHopper,
  ProductBlackwell,
  ProductTpu,
  // Sustained clock of a board against the rest of its generation.
  ClockH100Capped,
  ClockGb200,
  ClockGb300,
  // Rate of narrower formats, as a share of what their peak promises beside 16 bit.
  Tf32,
  EightBitTensor,
  EightBitBlock,
  EightBitRow,
  FourBit,
  // The shape of a product's efficiency.
  InnerLength,
  WaveExponent,
  SmallTile,
  // Fused attention, share of the dense 16-bit peak at heads 128 wide.
  FlashTritonAmpere,
  FlashTritonHopper,
  Flash2Ampere,
  Flash2Hopper,
  CudnnHopper,
  CudnnBlackwell,
  FlashTpu,
  FlashBackward,
  HeadWidth,
  UnfusedProduct,
  UnalignedHead,
  SoftmaxEager,
  // Memory-bound kernels.
  MemoryRate,
  ChainFused,
  ChainCompiled,
  ChainEager,
  LossBytes,
  OptimizerBytes,
  // Starting work.
  KernelGap,
  HostOp,
  HostRouted,
  StepStart,
  // Routed experts.
  GroupedProduct,
  RoutedPasses,
  // Links: share of the datasheet rate, seconds.
  BusVolta,
  BusAmpere,
  BusHopper,
  BusBlackwell,
  BusTpu,
  NetworkReduce,
  NetworkTensor,
  Send,
  SendStart,
  AllToAll,
  LatencyInside,
  LatencyAcross,
  Contention,
  Straggler,
  // Memory.
  Fragmentation,
  ContextMegatron,
  ContextFsdp,
  ContextDeepspeed,
  ContextNanotron,
  LogitBytes,
  GatheredInputs,
  PressureOnset,
  PressureSlope,
};
inline constexpr std::size_t kParameters = static_cast<std::size_t>(Parameter::PressureSlope) + 1;
static_assert(kParameters <= 65);

struct ParameterInfo {
  Parameter parameter{};
  std::string_view name;       // "product.ampere", as profiles write it
  double value = 0;            // that ships
  double prior = 0;            // believed before the fit
  double spread = 0.1;         // of the prior: standard deviation of the logarithm
  double low = 0, high = 1e9;  // physically possible, closed
  std::string_view unit;       // "share", "us", "bytes"
  std::string_view meaning;    // one sentence
  std::string_view source;     // where the prior is from
  std::string_view fitted_on;  // which rows move it; "" = not fitted
};

/// In the order of the enumeration, one row each.
std::span<const ParameterInfo> parameter_table();
const ParameterInfo& info(Parameter);
/// Throws Error{InvalidInput} with the nearest name.
Parameter parameter_named(std::string_view name);

/// One value each; those that ship unless set otherwise.
class Parameters {
 public:
  Parameters();
  static Parameters priors();
  double operator[](Parameter p) const { return values_[static_cast<std::size_t>(p)]; }
  double& operator[](Parameter p) { return values_[static_cast<std::size_t>(p)]; }
  friend bool operator==(const Parameters&, const Parameters&) = default;

 private:
  std::array<double, kParameters> values_{};
};

}  // namespace trainyard

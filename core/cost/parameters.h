// This file defines the named parameters of the physical cost model: every number that is neither a
// datasheet figure nor arithmetic, each with the shipped value, the value believed before any row
// was fitted, and its meaning. parameters.cpp lists them; `trainyard hardware NAME --explain`
// prints those that apply to a device, `trainyard calibrate --rows` fits them to a user's own rows.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace trainyard {

enum class Parameter : std::uint8_t {
  // These are shares of the dense 16-bit peak that large products sustain, by generation.
  ProductVolta,
  ProductAmpere,
  ProductHopper,
  ProductBlackwell,
  ProductTpu,
  // These are sustained clocks of a board relative to the rest of its generation.
  ClockH100Capped,
  ClockH20,
  ClockGb200,
  ClockGb300,
  ClockTpuV6e,
  // These are rates of narrower formats, as shares of what their peak promises relative to 16 bit.
  Tf32,
  EightBitTensor,
  EightBitBlock,
  EightBitRow,
  FourBit,
  // These give the shape of a product's efficiency.
  InnerLength,
  WaveExponent,
  SmallTile,
  // These are for fused attention, as shares of the dense 16-bit peak at heads 128 wide.
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
  // These are for memory-bound kernels.
  MemoryRate,
  ChainFused,
  ChainCompiled,
  ChainEager,
  LossBytes,
  OptimizerBytes,
  // These are the costs of starting work.
  KernelGap,
  HostOp,
  HostRouted,
  StepStart,
  // These are for routed experts.
  GroupedProduct,
  RoutedPasses,
  RoutedRelease,
  HostRelease,
  // These are for links: shares of the datasheet rate, or seconds.
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
  // These are for memory.
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
static_assert(kParameters <= 80);

struct ParameterInfo {
  Parameter parameter{};
  std::string_view name;       // "product.ampere", as profiles name it
  double value = 0;            // the shipped value
  double prior = 0;            // the value believed before the fit
  double spread = 0.1;         // standard deviation of the prior's logarithm
  double low = 0, high = 1e9;  // physically possible range, both ends included
  std::string_view unit;       // "share", "us", "bytes"
  std::string_view meaning;    // one sentence
  std::string_view source;     // source of the prior
  std::string_view fitted_on;  // which rows determine it; "" = not fitted
};

/// The rows are in the order of the enumeration, one per parameter.
std::span<const ParameterInfo> parameter_table();
const ParameterInfo& info(Parameter);
/// Throws Error{InvalidInput} with the nearest name.
Parameter parameter_named(std::string_view name);

/// Parameters holds one value for each parameter, which is the shipped one unless set otherwise.
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

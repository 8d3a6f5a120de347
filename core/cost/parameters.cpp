#include "core/cost/parameters.h"

#include <cassert>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/base/nearest.h"

namespace trainyard {
namespace {

using P = Parameter;

constexpr std::string_view kStudy = "closed forms fitted on published runs, 2026-11";
constexpr std::string_view kAssumed = "assumed";

// The columns are parameter, name, value, prior, spread, low, high, unit, meaning, source, and the
// rows on which it is fitted.
constexpr ParameterInfo kTable[] = {
    {P::ProductVolta, "product.volta", 0.4604, 0.56, 0.1, 0.1, 1, "share",
     "of the dense 16-bit peak, sustained by large matrix products on V100", kStudy, "V100"},
    {P::ProductAmpere, "product.ampere", 0.7807, 0.83, 0.05, 0.1, 1, "share",
     "of the dense 16-bit peak, sustained by large matrix products on A100", kStudy, "A100"},
    {P::ProductHopper, "product.hopper", 0.7088, 0.70, 0.05, 0.1, 1, "share",
     "of the dense 16-bit peak, sustained by large matrix products on H100", kStudy, "H100"},
    {P::ProductBlackwell, "product.blackwell", 0.6394, 0.67, 0.05, 0.1, 1, "share",
     "of the dense 16-bit peak, sustained by large matrix products on B200", kStudy, "Blackwell"},
    {P::ProductTpu, "product.tpu", 0.9188, 0.95, 0.05, 0.1, 1, "share",
     "of the dense 16-bit peak, sustained by large matrix products on TPUs", kStudy, "TPU v5e"},
    {P::ClockH100Capped, "clock.h100-capped", 0.7322, 0.79, 0.05, 0.3, 1.2, "share",
     "sustained clock of H100 boards of 350 to 500 W, of the 700 W board's", kStudy,
     "H100 of 500 W"},
    {P::ClockH20, "clock.h20", 1.316, 1.3, 0.05, 1, 1.43, "share",
     "share of its peak that H20 sustains, of H100's: it is too slow to meet the limit of its "
     "power",
     kAssumed, "H20"},
    {P::ClockGb200, "clock.gb200", 0.9876, 1, 0.05, 0.3, 1.5, "share",
     "sustained clock of GB200, of B200's", kStudy, "GB200"},
    {P::ClockGb300, "clock.gb300", 1.07, 1, 0.05, 0.3, 1.5, "share",
     "sustained clock of GB300, of B200's", kStudy, "GB300"},
    {P::ClockTpuV6e, "clock.tpu-v6e", 0.7097, 0.9, 0.1, 0.3, 1.2, "share",
     "of the share of v5e's peak, what products of TPU v6e reach of their own", kStudy, "TPU v6e"},
    {P::Tf32, "format.tf32", 1.013, 0.87, 0.1, 0.1, 1.1, "share",
     "of the 16-bit share, that TF32 products reach of their own peak", kStudy, "tf32"},
    {P::EightBitTensor, "format.eight-bit.tensor", 0.9688, 0.94, 0.1, 0.1, 1.1, "share",
     "of the 16-bit share, that 8-bit products with one scale a tensor reach", kStudy, "fp8"},
    {P::EightBitBlock, "format.eight-bit.block", 0.8437, 0.83, 0.1, 0.1, 1.1, "share",
     "of the 16-bit share, that 8-bit products with a scale a block reach", kStudy, "mxfp8"},
    {P::EightBitRow, "format.eight-bit.row", 0.3796, 0.5, 0.2, 0.1, 1.1, "share",
     "of the 16-bit share, that 8-bit products with a scale a row reach", kStudy, "fp8 by row"},
    {P::FourBit, "format.four-bit", 0.4668, 0.55, 0.2, 0.1, 1.1, "share",
     "of the 16-bit share, that 4-bit products reach of their own peak", kStudy, "nvfp4"},
    {P::InnerLength, "product.inner-length", 163, 200, 0.3, 1, 2000, "elements",
     "inner dimension at which filling and draining a tile takes as long as its products, in 16 "
     "bit; more by what another format is faster",
     kStudy, "all"},
    {P::WaveExponent, "product.wave", 0.7076, 0.7, 0.3, 0, 1, "exponent",
     "how much of the idle units in the last wave of tiles is lost", kStudy, "all"},
    {P::SmallTile, "product.small-tile", 1.046, 1.08, 0.1, 1, 2, "factor",
     "cost of a tile of 128 x 128 against one of 128 x 256, by area", kStudy, "all"},
    {P::FlashTritonAmpere, "attention.triton.ampere", 0.3438, 0.37, 0.15, 0.05, 0.9, "share",
     "of the dense peak, fused attention in Triton on A100, heads 128 wide", kStudy,
     "llm-foundry A100"},
    {P::FlashTritonHopper, "attention.triton.hopper", 0.189, 0.20, 0.15, 0.05, 0.9, "share",
     "of the dense peak, fused attention in Triton on H100, heads 128 wide", kStudy,
     "llm-foundry H100"},
    {P::Flash2Ampere, "attention.flash-2.ampere", 0.5691, 0.56, 0.15, 0.05, 0.9, "share",
     "of the dense peak, FlashAttention 2 on A100, heads 128 wide", kStudy, "A100"},
    {P::Flash2Hopper, "attention.flash-2.hopper", 0.2567, 0.32, 0.15, 0.05, 0.9, "share",
     "of the dense peak, FlashAttention 2 on H100, heads 128 wide", kStudy, "H100"},
    {P::CudnnHopper, "attention.cudnn.hopper", 0.3458, 0.37, 0.15, 0.05, 0.9, "share",
     "of the dense peak, attention of cuDNN on H100, heads 128 wide", kStudy, "H100"},
    {P::CudnnBlackwell, "attention.cudnn.blackwell", 0.389, 0.42, 0.15, 0.05, 0.9, "share",
     "of the dense peak, attention of cuDNN on B200, heads 128 wide", kStudy, "Blackwell"},
    {P::FlashTpu, "attention.tpu", 0.6791, 0.5, 0.15, 0.05, 0.9, "share",
     "of the dense peak, fused attention on TPUs", kStudy, "TPU v5e"},
    {P::FlashBackward, "attention.backward", 0.9359, 0.85, 0.1, 0.3, 1, "share",
     "rate of fused attention backward, of forward's", kStudy, "all"},
    {P::HeadWidth, "attention.head-width", 18.22, 19, 0.3, 1, 200, "elements",
     "head width at which fused attention reaches half of its rate without end", kStudy, "all"},
    {P::UnfusedProduct, "attention.unfused-product", 0.3266, 0.45, 0.2, 0.05, 1, "share",
     "of the product ceiling, that the batched products of unfused attention reach", kStudy,
     "unfused"},
    {P::UnalignedHead, "attention.unaligned", 0.08352, 0.15, 0.3, 0.02, 1, "share",
     "rate of those products where the head width is no multiple of 8", kStudy, "BigScience"},
    {P::SoftmaxEager, "attention.softmax-eager", 8.314, 8, 0.3, 1, 20, "factor",
     "traffic of an unfused chain of mask, softmax and dropout, of the fused kernel's", kStudy,
     "unfused, eager"},
    {P::MemoryRate, "memory.rate", 0.7698, 0.8, 0.05, 0.3, 0.95, "share",
     "of the memory's datasheet rate, that streaming kernels reach", kStudy, "all"},
    {P::ChainFused, "chain.fused", 0.6982, 0.75, 0.2, 0.3, 3, "factor",
     "traffic of element-wise chains in hand-fused kernels, of what the graph counts", kStudy,
     "Megatron"},
    {P::ChainCompiled, "chain.compiled", 1.073, 0.9, 0.2, 0.3, 3, "factor",
     "the same where a compiler fuses", kStudy, "torchtitan, fms-fsdp"},
    {P::ChainEager, "chain.eager", 2.172, 1.6, 0.2, 0.5, 4, "factor",
     "the same where every operator is a kernel of its own", kStudy, "llm-foundry, nanotron"},
    {P::LossBytes, "loss.bytes", 15.57, 16, 0.2, 4, 64, "bytes",
     "moved a logit by the loss, forward and backward", kStudy, "all"},
    {P::OptimizerBytes, "optimizer.traffic", 1.133, 1, 0.2, 0.3, 4, "factor",
     "traffic of the optimizer, of what its states are", kStudy, "all"},
    {P::KernelGap, "kernel.gap", 3.812, 4, 0.3, 0.5, 20, "us",
     "between two kernels of a full queue", kStudy, "all"},
    {P::HostOp, "host.op", 70.72, 50, 0.3, 1, 500, "us",
     "the host needs to issue one operator of an eager framework", kStudy, "small layers"},
    {P::HostRouted, "host.routed", 10130, 6000, 0.5, 1, 20000, "us",
     "more that the host needs for a layer of routed experts whose counts it reads", kStudy,
     "routed experts"},
    {P::StepStart, "step.start", 12.32, 17, 0.4, 0, 200, "ms",
     "once a step: batch, gradient norm, checks, logging", kStudy, "all"},
    {P::GroupedProduct, "experts.product", 51.53, 200, 0.6, 1, 10000, "elements",
     "shortest side (tokens an expert, its width or the model's) at which grouped products of "
     "routed experts reach half the rate of dense products of their size",
     kStudy, "routed experts"},
    {P::RoutedPasses, "experts.passes", 7.623, 8, 0.3, 1, 20, "factor",
     "passes over the routed tokens that permuting, padding and weighing them take", kStudy,
     "routed experts"},
    {P::RoutedRelease, "experts.release", 0.7004, 0.7, 0.5, 0, 3, "1/year",
     "rate at which releases of frameworks have shortened what routing takes the device: permuting "
     "and exchanging",
     kStudy, "routed experts, by release"},
    {P::HostRelease, "host.release", 2.45, 1.0, 0.5, 0, 5, "1/year",
     "the same for what routing takes the host", kStudy, "routed experts, by release"},
    {P::BusVolta, "bus.volta", 0.7925, 0.8, 0.1, 0.2, 1, "share",
     "of the scale-up links' datasheet rate, bus bandwidth of large reductions on V100", kStudy,
     "V100"},
    {P::BusAmpere, "bus.ampere", 0.8282, 0.77, 0.1, 0.2, 1, "share", "the same on A100", kStudy,
     "A100, tensor parallel"},
    {P::BusHopper, "bus.hopper", 0.9458, 0.8, 0.1, 0.2, 1, "share", "the same on H100", kStudy,
     "H100, tensor parallel"},
    {P::BusBlackwell, "bus.blackwell", 0.845, 0.8, 0.1, 0.2, 1, "share", "the same on Blackwell",
     kStudy, "Blackwell, tensor parallel"},
    {P::BusTpu, "bus.tpu", 0.863, 0.5, 0.2, 0.2, 1, "share", "the same on TPUs", kStudy, "TPU v5e"},
    {P::NetworkReduce, "network.reduce", 0.5146, 0.5, 0.2, 0.1, 1, "share",
     "of the ports' datasheet rate, bus bandwidth of gradient and weight traffic between nodes",
     kStudy, "data parallel over nodes"},
    {P::NetworkTensor, "network.tensor", 0.9262, 0.9, 0.15, 0.1, 1, "share",
     "of a node's ports together, bus bandwidth of tensor parallel groups that span nodes", kStudy,
     "tensor parallel over nodes"},
    {P::Send, "network.send", 0.9592, 0.9, 0.15, 0.1, 1, "share",
     "of one port's rate, that a message between two stages reaches", kStudy, "pipelines"},
    {P::SendStart, "network.send-start", 122.9, 120, 0.4, 1, 2000, "us",
     "the host needs to start a message between stages", kStudy, "pipelines"},
    {P::AllToAll, "network.all-to-all", 0.6168, 0.55, 0.2, 0.1, 1, "share",
     "of either link's rate, that all-to-alls of routed tokens reach", kStudy, "routed experts"},
    {P::LatencyInside, "latency.inside", 28.46, 37, 0.3, 1, 500, "us",
     "before the first byte of a collective inside a node", "93 us floor of 8 A100, published",
     "all"},
    {P::LatencyAcross, "latency.across", 47.37, 59, 0.3, 1, 1000, "us",
     "before the first byte of a collective between nodes", kStudy, "all"},
    {P::Contention, "contention", 0.1871, 0.25, 0.4, 0, 1, "share",
     "of the shorter of computation and traffic beside it, what the two together take longer",
     kStudy, "FSDP"},
    {P::Straggler, "straggler", 0.002908, 0.007, 0.4, 0, 0.1, "share",
     "more time for each doubling of nodes beyond one: everybody waits for the slowest", kStudy,
     "many nodes"},
    {P::Fragmentation, "memory.fragmentation", 1.036, 1.04, 0.03, 1, 1.3, "factor",
     "reserved over allocated at the peak, beyond what the allocator's rounding gives", kStudy,
     "memory"},
    {P::ContextMegatron, "memory.context.megatron", 1.058, 1.0, 0.3, 0.1, 10, "GiB",
     "held beside tensors: communication buffers, workspaces of libraries", kStudy, "Zero Bubble"},
    {P::ContextFsdp, "memory.context.fsdp", 2.321, 2.0, 0.3, 0.1, 10, "GiB", "the same under FSDP",
     kStudy, "torchtitan"},
    {P::ContextDeepspeed, "memory.context.deepspeed", 3.951, 3.0, 0.3, 0.1, 10, "GiB",
     "the same under DeepSpeed", kStudy, "Sailor, BigScience"},
    {P::ContextNanotron, "memory.context.nanotron", 1.268, 1.5, 0.3, 0.1, 10, "GiB",
     "the same under nanotron", kStudy, "nanotron"},
    {P::LogitBytes, "memory.logit", 11.05, 10, 0.2, 2, 20, "bytes",
     "held a logit at the peak of the last stage", kStudy, "memory"},
    {P::GatheredInputs, "memory.gathered-inputs", 11.81, 6, 0.3, 0, 20, "tensors",
     "gathered blocks of tokens x hidden alive at the peak of full recomputation under sequence "
     "parallel",
     kStudy, "memory"},
    {P::PressureOnset, "pressure.onset", 0.9425, 0.93, 0.03, 0.5, 1, "share",
     "of a device's memory, reserved, above which the allocator frees and asks again", kAssumed,
     "full devices"},
    {P::PressureSlope, "pressure.slope", 0.3437, 3, 0.5, 0, 20, "factor",
     "lost time, of the step, for each further share of memory reserved", kAssumed, "full devices"},
};
static_assert(std::size(kTable) == kParameters);

}  // namespace

std::span<const ParameterInfo> parameter_table() { return kTable; }

const ParameterInfo& info(Parameter p) {
  const ParameterInfo& row = kTable[static_cast<std::size_t>(p)];
  assert(row.parameter == p && "the table stands in the order of the enumeration");
  return row;
}

Parameter parameter_named(std::string_view name) {
  std::vector<std::string_view> names;
  for (const ParameterInfo& row : kTable) {
    if (row.name == name) return row.parameter;
    names.push_back(row.name);
  }
  throw Error(Error::Kind::InvalidInput, "expected the name of a parameter, found '" +
                                             std::string(name) + "'" + did_you_mean(name, names));
}

Parameters::Parameters() {
  for (const ParameterInfo& row : kTable) (*this)[row.parameter] = row.value;
}

Parameters Parameters::priors() {
  Parameters p;
  for (const ParameterInfo& row : kTable) p[row.parameter] = row.prior;
  return p;
}

}  // namespace trainyard

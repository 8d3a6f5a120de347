// An IntegerNetwork is a FloatNetwork in whole numbers of 8 bits, as microcontrollers run it
// (David et al., "TensorFlow Lite Micro", MLSys 2021): numbers of a tensor share a scale and a zero
// point, weights have a scale for each output channel and the zero point 0, sums are of 32 bits,
// and a fixed-point factor brings each to the scale of the output. Jacob et al., "Quantization and
// Training of Neural Networks for Efficient Integer-Arithmetic-Only Inference", CVPR 2018.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/memory/arena_solver.h"
#include "core/microcontroller/fixed_point.h"
#include "core/microcontroller/float_network.h"

namespace trainyard {

/// The smallest and largest number that a tensor had on the samples of a calibration.
struct CalibratedRange {
  float low = 0, high = 0;
};

/// A number q of a tensor stands for scale * (q - zero).
struct TensorScale {
  double scale = 1;
  std::int32_t zero = 0;  // in [-128, 127], so that 0 is a number of the tensor
  friend bool operator==(const TensorScale&, const TensorScale&) = default;
};
/// Returns the finest scale that reaches from the smaller of low and 0 to the larger of high and 0.
TensorScale scale_of(CalibratedRange);

/// Offsets of tensors that lie in memory of the caller.
inline constexpr std::int64_t kCallersInput = -1, kCallersOutput = -2;

struct IntegerTensor {
  ImageSize size;
  TensorScale scale;
  std::int64_t offset = kCallersInput;  // bytes from the start of the arena, or one of the above
};

struct IntegerLayer {
  MicroOp op = MicroOp::Relu;
  std::string name;
  std::vector<int> inputs;
  int output = 0;
  KernelWindow window = {};
  std::int32_t low = -128, high = 127;       // the output is clamped to these; a ReLU raises `low`
  std::vector<std::int8_t> weights = {};     // in [-127, 127], laid out as those of FloatLayer
  std::vector<std::int32_t> bias = {};       // by output channel, in the scale of the sums
  std::vector<Requantisation> factors = {};  // of sums: by output channel where there are weights;
                                             // Add: of either input, and of their sum; AveragePool:
                                             // one, which divides by the window too
};

/// Add brings both inputs to a common scale, 2^kSumBits times as fine as half of the coarser one.
inline constexpr int kSumBits = 20;
/// The alignment of tensors in the arena: a word of the processor.
inline constexpr Bytes kArenaAlignment{4};

struct IntegerNetwork {
  std::string model;
  std::vector<IntegerTensor> tensors;
  std::vector<IntegerLayer> layers;
  int input = 0, output = 0;
  Bytes arena{};          // that run_network() needs: the end of the highest tensor
  Bytes arena_bound{};    // no placement reaches less
  std::string placed_by;  // as SolvedArena::found_by

  const IntegerTensor& tensor(int index) const { return tensors[static_cast<std::size_t>(index)]; }
};

/// `ranges`: by tensor. Tensors that hold numbers of their input (ReLU alone, the largest of
/// windows) have its scale. Throws Error{Unsupported} where a sum could exceed 32 bits, with the
/// layer.
IntegerNetwork integer_network(const FloatNetwork&, std::span<const CalibratedRange> ranges);

/// Returns for each tensor when it is held, in layers; nothing for those of the caller.
std::vector<Lifetime> tensor_lives(const IntegerNetwork&);

/// Bytes of the constants of the exported C program, which stay in flash: weights, biases, factors
/// and the list of layers, on processors of 32 bits. Code comes on top.
Bytes constant_bytes(const IntegerNetwork&);

/// Returns real numbers as the network's input takes them, and its output as real numbers.
std::vector<std::int8_t> quantised(std::span<const float>, const TensorScale&);
std::vector<float> dequantised(std::span<const std::int8_t>, const TensorScale&);

}  // namespace trainyard

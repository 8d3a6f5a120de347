// Number formats, and which of them each kind of tensor has under a precision policy.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace trainyard {

/// The 8-bit formats of products differ in what shares a scale: a tensor (F8), a row of one (F8Row)
/// or a block of 32 elements of a row (F8Block, "mxfp8": Open Compute's microscaling formats 2023).
/// F4 has a scale for 16 elements ("nvfp4").
enum class DType : std::uint8_t {
  F64,
  F32,
  TF32,
  F16,
  BF16,
  F8,
  F8Block,
  F8Row,
  F4,
  I64,
  I32,
  I8,
  Bool
};

/// Bytes of one element in memory, scales apart. TF32 is stored as 4 bytes: it is a way to
/// multiply, not a way to store. Two elements of F4 share a byte; alone it takes one.
constexpr int bytes_of(DType type) {
  switch (type) {
    case DType::F64:
    case DType::I64:
      return 8;
    case DType::F32:
    case DType::TF32:
    case DType::I32:
      return 4;
    case DType::F16:
    case DType::BF16:
      return 2;
    case DType::F8:
    case DType::F8Block:
    case DType::F8Row:
    case DType::F4:
    case DType::I8:
    case DType::Bool:
      return 1;
  }
  return 0;
}

/// Formats of 8 bits and less, whose operands are cast before a product reads them.
constexpr bool eight_bit(DType type) {
  return type == DType::F8 || type == DType::F8Block || type == DType::F8Row;
}
constexpr bool narrow(DType type) { return eight_bit(type) || type == DType::F4; }

std::string_view to_string(DType);                   // "bf16", "fp32", "tf32", "int64", "bool" ...
std::optional<DType> parse_dtype(std::string_view);  // those spellings, and "float16", "bfloat16",
                                                     // "float32" of frameworks

/// What a tensor is for; its format follows from the plan's Precision.
enum class TensorKind : std::uint8_t {
  Parameter,   // trained
  Activation,  // flows between ops
  Statistic,   // per-row facts an op keeps for backward (mean, logsumexp): always 4 bytes
  Mask,        // one byte an element (dropout)
  Index,       // token ids, labels: 8 bytes
};

/// Which format each kind of tensor has. Filled by the plan's precision method (fp32, tf32, fp16,
/// bf16).
struct Precision {
  DType parameter = DType::F32;  // weights as kernels read them
  DType activation = DType::F32;
  DType gradient = DType::F32;  // weight gradients as they are accumulated and reduced
  DType math = DType::F32;      // what products are multiplied in; picks the device's peak
  bool master_weights = false;  // a 4-byte copy that the optimizer updates
};

constexpr int bytes_of(TensorKind kind, const Precision& precision) {
  switch (kind) {
    case TensorKind::Parameter:
      return bytes_of(precision.parameter);
    case TensorKind::Activation:
      return bytes_of(precision.activation);
    case TensorKind::Statistic:
      return 4;
    case TensorKind::Mask:
      return 1;
    case TensorKind::Index:
      return 8;
  }
  return 0;
}

}  // namespace trainyard

// This file defines number formats, and which format each kind of tensor has under a precision
// policy.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace trainyard {

/// The 8-bit formats of products differ in which elements share a scale: a tensor (F8), a row of
/// one (F8Row) or a block of 32 elements of a row (F8Block, "mxfp8": Open Compute's microscaling
/// formats 2023). F4 has one scale per 16 elements ("nvfp4"). Flex16 is integers of 16 bits whose
/// tensor shares one exponent (Flexpoint 2017).
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
  Bool,
  Flex16
};

/// Returns the bytes of one element in memory, without scales. TF32 takes 4 bytes, because it is a
/// format of multiplication and not of storage. Two elements of F4 share a byte; the result for one
/// is 1.
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
    case DType::Flex16:
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

/// Both return whether operands are cast to a format before a product reads them. eight_bit()
/// leaves out F4, Flex16, and I8, whose scales are those of vectors.
constexpr bool eight_bit(DType type) {
  return type == DType::F8 || type == DType::F8Block || type == DType::F8Row;
}
constexpr bool narrow(DType type) {
  return eight_bit(type) || type == DType::F4 || type == DType::I8 || type == DType::Flex16;
}

std::string_view to_string(DType);                   // "bf16", "fp32", "tf32", "int64", "bool" ...
std::optional<DType> parse_dtype(std::string_view);  // those spellings, and "float16", "bfloat16",
                                                     // "float32" as frameworks write them

/// TensorKind says what a tensor is for; its format follows from the plan's Precision.
enum class TensorKind : std::uint8_t {
  Parameter,   // trained
  Activation,  // flows between ops
  Statistic,   // values per row that an op keeps for backward (mean, logsumexp): always 4 bytes
  Mask,        // one byte per element (dropout)
  Index,       // token ids, labels: 8 bytes
};

/// Precision says which format each kind of tensor has. The plan's precision method (fp32, tf32,
/// fp16, bf16) fills it in.
struct Precision {
  DType parameter = DType::F32;  // weights as kernels read them
  DType activation = DType::F32;
  DType gradient = DType::F32;  // weight gradients as they are accumulated and reduced
  DType math = DType::F32;      // format in which products are multiplied; decides which of the
                                // device's peaks applies
  bool master_weights = false;  // whether the optimizer updates a 4-byte copy
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

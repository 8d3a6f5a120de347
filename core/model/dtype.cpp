#include "core/model/dtype.h"

#include <array>

namespace trainyard {
namespace {

struct Spelling {
  std::string_view text;
  DType type;
};

// The first spelling of a type is the one that is printed.
constexpr std::array kSpellings = {
    Spelling{"fp64", DType::F64},      Spelling{"float64", DType::F64},
    Spelling{"fp32", DType::F32},      Spelling{"float32", DType::F32},
    Spelling{"tf32", DType::TF32},     Spelling{"fp16", DType::F16},
    Spelling{"float16", DType::F16},   Spelling{"half", DType::F16},
    Spelling{"bf16", DType::BF16},     Spelling{"bfloat16", DType::BF16},
    Spelling{"fp8", DType::F8},        Spelling{"float8_e4m3fn", DType::F8},
    Spelling{"fp8-e4m3", DType::F8},   Spelling{"mxfp8", DType::F8Block},
    Spelling{"fp8-row", DType::F8Row}, Spelling{"nvfp4", DType::F4},
    Spelling{"int64", DType::I64},     Spelling{"int32", DType::I32},
    Spelling{"int8", DType::I8},       Spelling{"bool", DType::Bool},
    Spelling{"flex16", DType::Flex16},
};

}  // namespace

std::string_view to_string(DType type) {
  for (const Spelling& spelling : kSpellings)
    if (spelling.type == type) return spelling.text;
  return "";
}

std::optional<DType> parse_dtype(std::string_view text) {
  if (text.starts_with("torch.")) text.remove_prefix(6);
  for (const Spelling& spelling : kSpellings)
    if (spelling.text == text) return spelling.type;
  return std::nullopt;
}

}  // namespace trainyard

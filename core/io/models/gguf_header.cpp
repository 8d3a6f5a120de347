#include "core/io/models/gguf_header.h"

#include <algorithm>
#include <cstring>

#include "core/base/error.h"
#include "core/base/units_text.h"

namespace trainyard {
namespace {

// These are the types of metadata values by their number; sizes are in bytes, 0 where they vary.
enum class ValueType : std::uint32_t {
  U8,
  I8,
  U16,
  I16,
  U32,
  I32,
  F32,
  Bool,
  Text,
  List,
  U64,
  I64,
  F64
};
constexpr int kValueBytes[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
constexpr std::uint32_t kValueTypes = 13;

// These are the formats of tensors by ggml's number; "" where a number is not in use.
constexpr std::string_view kTensorFormats[] = {
    "F32",     "F16",    "Q4_0",    "Q4_1",  "",       "",      "Q5_0",  "Q5_1",
    "Q8_0",    "Q8_1",   "Q2_K",    "Q3_K",  "Q4_K",   "Q5_K",  "Q6_K",  "Q8_K",
    "IQ2_XXS", "IQ2_XS", "IQ3_XXS", "IQ1_S", "IQ4_NL", "IQ3_S", "IQ2_S", "IQ4_XS",
    "I8",      "I16",    "I32",     "I64",   "F64",    "IQ1_M", "BF16",  "",
    "",        "",       "TQ1_0",   "TQ2_0", "",       "",      "",      "MXFP4"};

class GgufReader {
 public:
  GgufReader(std::string_view bytes, std::int64_t file_bytes, const std::string& source)
      : bytes_(bytes), file_bytes_(file_bytes), source_(source) {}

  TensorHeader read() {
    if (bytes_.substr(0, 4) != "GGUF") refuse("expected a GGUF file, which begins with \"GGUF\"");
    at_ = 4;
    const std::uint32_t version = number<std::uint32_t>();
    if (version != 2 && version != 3)
      refuse("expected version 2 or 3 of GGUF, found " + std::to_string(version));
    // Each tensor takes at least 24 bytes of header, each metadata entry at least 13.
    const std::uint64_t tensors = count(24, "tensors"), facts = count(13, "facts");
    TensorHeader header;
    for (std::uint64_t i = 0; i < facts; ++i) read_fact(header);
    for (std::uint64_t i = 0; i < tensors; ++i) header.tensors.push_back(read_tensor());
    return header;
  }

 private:
  std::string_view bytes_;
  std::int64_t file_bytes_;
  const std::string& source_;
  std::size_t at_ = 0;

  [[noreturn]] void refuse(const std::string& sentence) const {
    throw Error(Error::Kind::InvalidInput, sentence, Place{source_ + ":" + std::to_string(at_)});
  }

  void need(std::uint64_t bytes) const {
    if (bytes > bytes_.size() - at_)
      refuse("expected " + std::to_string(bytes) + " more bytes of header, found " +
             std::to_string(bytes_.size() - at_));
  }

  template <class T>
  T number() {
    need(sizeof(T));
    T value{};
    std::memcpy(&value, bytes_.data() + at_, sizeof(T));  // the file is little-endian, as is this
                                                          // machine
    at_ += sizeof(T);
    return value;
  }

  std::uint64_t count(std::uint64_t each, const char* what) {
    const auto found = number<std::uint64_t>();
    if (found > bytes_.size() / each)
      refuse("expected at most " + std::to_string(bytes_.size() / each) + " " + what +
             " in a header of this size, found " + std::to_string(found));
    return found;
  }

  std::string text() {
    const auto length = number<std::uint64_t>();
    need(length);
    const std::string value(bytes_.substr(at_, length));
    at_ += length;
    return value;
  }

  std::uint32_t value_type() {
    const auto type = number<std::uint32_t>();
    if (type >= kValueTypes)
      refuse("expected a type of value from 0 to 12, found " + std::to_string(type));
    return type;
  }

  void skip_list(int depth) {
    if (depth > 4) refuse("expected lists at most 4 deep, found deeper ones");
    const std::uint32_t type = value_type();
    const auto length = number<std::uint64_t>();
    const auto each = static_cast<std::uint64_t>(kValueBytes[type]);
    if (each > 0) {
      if (length > (bytes_.size() - at_) / each) need(bytes_.size());
      at_ += length * each;
      return;
    }
    for (std::uint64_t i = 0; i < length; ++i) {
      if (static_cast<ValueType>(type) == ValueType::Text)
        text();
      else
        skip_list(depth + 1);
    }
  }

  std::string value(std::uint32_t type) {
    switch (static_cast<ValueType>(type)) {
      case ValueType::U8:
      case ValueType::Bool:
        return std::to_string(number<std::uint8_t>());
      case ValueType::I8:
        return std::to_string(number<std::int8_t>());
      case ValueType::U16:
        return std::to_string(number<std::uint16_t>());
      case ValueType::I16:
        return std::to_string(number<std::int16_t>());
      case ValueType::U32:
        return std::to_string(number<std::uint32_t>());
      case ValueType::I32:
        return std::to_string(number<std::int32_t>());
      case ValueType::U64:
        return std::to_string(number<std::uint64_t>());
      case ValueType::I64:
        return std::to_string(number<std::int64_t>());
      case ValueType::F32:
        return to_text(static_cast<double>(number<float>()));
      case ValueType::F64:
        return to_text(number<double>());
      case ValueType::Text:
        return text();
      case ValueType::List:
        skip_list(0);
        return "";
    }
    return "";
  }

  void read_fact(TensorHeader& header) {
    std::string key = text();
    const std::uint32_t type = value_type();
    std::string found = value(type);
    if (static_cast<ValueType>(type) != ValueType::List) header.facts[std::move(key)] = found;
  }

  HeaderTensor read_tensor() {
    HeaderTensor tensor;
    tensor.name = text();
    const auto dimensions = number<std::uint32_t>();
    if (dimensions > 4)
      refuse("expected at most 4 dimensions of " + tensor.name.substr(0, 60) + ", found " +
             std::to_string(dimensions));
    std::int64_t elements_so_far = 1;
    for (std::uint32_t d = 0; d < dimensions; ++d) {
      const auto size = number<std::uint64_t>();
      // No format has less than one bit per element.
      if (size > static_cast<std::uint64_t>(file_bytes_) * 8 ||
          __builtin_mul_overflow(elements_so_far, static_cast<std::int64_t>(size),
                                 &elements_so_far) ||
          elements_so_far / 8 > file_bytes_)
        refuse("expected no more elements of " + tensor.name.substr(0, 60) +
               " than the file has bits, found more");
      tensor.shape.push_back(static_cast<std::int64_t>(size));
    }
    std::reverse(tensor.shape.begin(), tensor.shape.end());
    const auto format = number<std::uint32_t>();
    if (format >= std::size(kTensorFormats) || kTensorFormats[format].empty())
      refuse("expected a format of tensors that is known, found number " + std::to_string(format));
    tensor.format = kTensorFormats[format];
    const auto offset = number<std::uint64_t>();
    if (offset > static_cast<std::uint64_t>(file_bytes_))
      refuse("expected " + tensor.name.substr(0, 60) + " within the file's " +
             std::to_string(file_bytes_) + " bytes, found it at " + std::to_string(offset));
    return tensor;
  }
};

}  // namespace

TensorHeader parse_gguf_header(std::string_view head, std::int64_t file_bytes,
                               const std::string& source) {
  return GgufReader(head, file_bytes, source).read();
}

}  // namespace trainyard

#include "core/io/models/safetensors_header.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/base/units_text.h"
#include "core/io/bytes/limits.h"
#include "core/io/json/json.h"

namespace trainyard {
namespace {

struct StoredFormat {
  std::string_view name;
  int bits;
};
constexpr StoredFormat kFormats[] = {
    {"F64", 64}, {"F32", 32}, {"F16", 16}, {"BF16", 16},   {"F8_E4M3", 8}, {"F8_E5M2", 8},
    {"I64", 64}, {"I32", 32}, {"I16", 16}, {"I8", 8},      {"U64", 64},    {"U32", 32},
    {"U16", 16}, {"U8", 8},   {"BOOL", 8}, {"F8_E8M0", 8},
};

int bits_of(const JsonCursor& at) {
  const std::string name = at.text();
  std::vector<std::string> names;
  for (const StoredFormat& format : kFormats) {
    if (format.name == name) return format.bits;
    names.emplace_back(format.name);
  }
  at.one_of(names);
  return 0;
}

// The two offsets must lie within the file and hold exactly the tensor.
void check_offsets(const JsonCursor& at, std::int64_t bytes, std::int64_t weights) {
  const std::vector<JsonCursor> ends = at.items();
  if (ends.size() != 2)
    at.refuse("expected where the tensor begins and ends, found " + std::to_string(ends.size()) +
              " numbers");
  const std::int64_t from = ends[0].integer(0, weights), to = ends[1].integer(0, weights);
  if (to - from != bytes)
    at.refuse("expected " + std::to_string(bytes) + " bytes, as format and shape have it, found " +
              std::to_string(to - from));
}

HeaderTensor read_tensor(const JsonCursor& at, std::string name, std::int64_t weights) {
  at.expect_keys({"dtype", "shape", "data_offsets"});
  HeaderTensor tensor;
  tensor.name = std::move(name);
  const int bits = bits_of(at.at("dtype"));
  tensor.format = at.at("dtype").text();
  const JsonCursor shape = at.at("shape");
  std::int64_t count = 1;
  for (const JsonCursor& dim : shape.items()) {
    tensor.shape.push_back(dim.integer(0, std::int64_t{1} << 48));
    if (__builtin_mul_overflow(count, tensor.shape.back(), &count) || count > weights)
      shape.refuse("expected no more elements than the file has bytes, found more");
    if (tensor.shape.size() > 8) shape.refuse("expected at most 8 dimensions, found more");
  }
  check_offsets(at.at("data_offsets"), count * bits / 8, weights);
  return tensor;
}

}  // namespace

std::int64_t safetensors_header_length(std::string_view eight, std::int64_t file_bytes,
                                       const std::string& source) {
  if (eight.size() < 8 || file_bytes < 8)
    refuse(source, "expected a safetensors file, which begins with 8 bytes of length, found " +
                       std::to_string(std::min<std::int64_t>(
                           file_bytes, static_cast<std::int64_t>(eight.size()))) +
                       " bytes in all");
  std::uint64_t length = 0;
  for (std::size_t i = 8; i-- > 0;) length = length << 8 | static_cast<unsigned char>(eight[i]);
  if (length > static_cast<std::uint64_t>(file_bytes - 8))
    refuse(source, "expected a header within the file's " + std::to_string(file_bytes) +
                       " bytes, found one of " + std::to_string(length));
  const auto bytes = static_cast<std::int64_t>(length);
  if (Bytes{bytes} > kLargestSafetensorsHeader)
    refuse(source, "expected a header of at most " + readable(kLargestSafetensorsHeader) +
                       ", found " + readable(Bytes{bytes}));
  return bytes;
}

TensorHeader parse_safetensors_header(std::string_view head, std::int64_t file_bytes,
                                      const std::string& source) {
  const std::int64_t length = safetensors_header_length(head, file_bytes, source);
  if (static_cast<std::int64_t>(head.size()) < 8 + length)
    refuse(source, "expected a header of " + std::to_string(length) + " bytes, found " +
                       std::to_string(head.size() - 8));
  const Json document = parse_json(head.substr(8, static_cast<std::size_t>(length)), source);
  const JsonCursor root(document, source);
  TensorHeader header;
  for (const std::string& key : root.keys()) {
    if (key != "__metadata__") {
      header.tensors.push_back(read_tensor(root.at(key), key, file_bytes - 8 - length));
      continue;
    }
    const JsonCursor facts = root.at(key);
    for (const std::string& fact : facts.keys())
      if (const std::string* text = facts.at(fact).value().text()) header.facts[fact] = *text;
  }
  return header;
}

}  // namespace trainyard

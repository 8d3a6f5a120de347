// Any bytes are a checkpoint or are refused with InvalidInput; one that is read is written as the
// same bytes. Sealed again, so that the head's fields are reached and not its digest alone.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "core/base/digest.h"
#include "core/base/error.h"
#include "core/training/checkpoint.h"

namespace {

void read(const std::string& bytes) {
  using namespace trainyard;
  try {
    if (to_bytes(parse_checkpoint(bytes, "fuzz")) != bytes) std::abort();
  } catch (const Error& error) {
    if (error.kind() != Error::Kind::InvalidInput) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string bytes(reinterpret_cast<const char*>(data), size);
  read(bytes);
  constexpr std::size_t kLength = 20, kHead = 28;
  if (size < kHead) return 0;
  std::uint64_t length = 0;
  for (std::size_t i = 8; i-- > 0;)
    length = length << 8 | static_cast<unsigned char>(bytes[kLength + i]);
  if (length > size - kHead || size - kHead - length < 8) return 0;
  const std::size_t end = kHead + static_cast<std::size_t>(length);
  const std::uint64_t seal = trainyard::digest(std::string_view(bytes).substr(0, end));
  for (std::size_t i = 0; i < 8; ++i) bytes[end + i] = static_cast<char>(seal >> (8 * i));
  read(bytes);
  return 0;
}

// A Digest is a 64-bit hash (FNV-1a) of text or plain values: equal canonical text gives equal
// digests on every machine. It is not cryptographic: it names results but does not protect them.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

namespace trainyard {

class Digest {
 public:
  Digest& add(std::string_view text) {
    for (unsigned char c : text) mix(c);
    return *this;
  }
  template <std::integral T>
  Digest& add(T number) {
    const auto n = static_cast<std::uint64_t>(number);
    for (int shift = 0; shift < 64; shift += 8) mix(static_cast<unsigned char>(n >> shift));
    return *this;
  }
  std::uint64_t value() const { return state_; }

 private:
  void mix(unsigned char c) { state_ = (state_ ^ c) * 0x100000001b3ull; }
  std::uint64_t state_ = 0xcbf29ce484222325ull;
};

inline std::uint64_t digest(std::string_view text) { return Digest().add(text).value(); }
/// Returns sixteen lower-case hex digits.
std::string to_hex(std::uint64_t);

}  // namespace trainyard

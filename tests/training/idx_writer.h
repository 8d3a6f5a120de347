// Makes IDX files and gzip archives in memory, in the form that data sets have.
#pragma once

#include <zlib.h>

#include <cstdint>
#include <string>
#include <vector>

namespace trainyard::testing {

inline std::string idx(const std::vector<std::uint32_t>& shape, const std::string& bytes) {
  std::string content = {0, 0, 8, static_cast<char>(shape.size())};
  for (std::uint32_t size : shape)
    for (int shift = 24; shift >= 0; shift -= 8) content += static_cast<char>(size >> shift);
  return content + bytes;
}

inline std::string gzip(std::string plain) {
  z_stream stream{};
  deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
  std::string packed(deflateBound(&stream, plain.size()) + 32, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(plain.data());
  stream.avail_in = static_cast<uInt>(plain.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

}  // namespace trainyard::testing

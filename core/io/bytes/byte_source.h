// Bytes of a file or a text from front to back, unpacked where they are gzip, so that a reader of
// gigabytes holds a block of them and no more.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace trainyard {

class ByteSource {
 public:
  virtual ~ByteSource() = default;
  /// Fills as much of the block as there is; 0 at the end. Blocks. Throws Error{Io}, and
  /// Error{InvalidInput} where a packed file is broken.
  virtual std::size_t read(char* block, std::size_t size) = 0;
  /// How much of it is read, [0, 1].
  virtual double share() const = 0;
};

/// Of a file, packed with gzip or plain. Throws Error{InvalidInput} when it cannot be opened.
std::unique_ptr<ByteSource> file_bytes(const std::string& path);
/// Of a plain text, which must outlive it.
std::unique_ptr<ByteSource> text_bytes(std::string_view text);

}  // namespace trainyard

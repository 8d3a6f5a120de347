// A ByteSource gives the bytes of a file or a text from front to back, unpacked where they are
// gzip, so that a reader of gigabytes holds only a block of them.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace trainyard {

class ByteSource {
 public:
  virtual ~ByteSource() = default;
  /// Fills the block with as many bytes as are left; returns 0 at the end. Blocks. Throws
  /// Error{Io}, and Error{InvalidInput} where a packed file is damaged.
  virtual std::size_t read(char* block, std::size_t size) = 0;
  /// Returns how much of it is read, in [0, 1].
  virtual double share() const = 0;
};

/// Opens a file, packed with gzip or plain. Throws Error{InvalidInput} when it cannot be opened.
std::unique_ptr<ByteSource> file_bytes(const std::string& path);
/// Opens a plain text, which must outlive the source.
std::unique_ptr<ByteSource> text_bytes(std::string_view text);

}  // namespace trainyard

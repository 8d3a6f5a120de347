// An NvmeFile stands for the NVMe of a node: an unnamed temporary file that holds the state which a
// device's host keeps there, and that is gone when its owner is. It must be used by one thread at a
// time.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "core/base/units.h"

namespace trainyard {

class NvmeFile {
 public:
  /// Makes a file of so many bytes, all 0, in the folder that TMPDIR names, else in /tmp. The room
  /// for it is taken at once. name: "the NVMe of d1", for messages. Throws Error{Io} where the file
  /// cannot be made or has no room.
  NvmeFile(std::string name, Bytes);
  NvmeFile(const NvmeFile&) = delete;
  NvmeFile& operator=(const NvmeFile&) = delete;
  ~NvmeFile();

  /// Fill or keep all of the span; both block. Throw Error{Io} where the file system fails, and
  /// Error{Internal} beyond the end.
  void read(Bytes from, std::span<std::byte> into) const;
  void write(Bytes at, std::span<const std::byte> from);

  Bytes size() const { return size_; }

 private:
  void expect_inside(Bytes at, std::size_t count) const;
  [[noreturn]] void fail(const std::string& did, int code) const;

  const std::string name_;
  const Bytes size_;
  int file_ = -1;
};

}  // namespace trainyard

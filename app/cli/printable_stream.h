// A PrintableStream is the one place at which text leaves for the terminal: it hands on all that is
// written to it as printable() shows it, so that no verb has to remember what came from outside.
#pragma once

#include <ostream>
#include <streambuf>
#include <string>

namespace trainyard {

class PrintableBuffer : public std::streambuf {
 public:
  explicit PrintableBuffer(std::ostream& target) : target_(target) {}
  ~PrintableBuffer() override;
  PrintableBuffer(const PrintableBuffer&) = delete;
  PrintableBuffer& operator=(const PrintableBuffer&) = delete;

 private:
  std::streamsize xsputn(const char* text, std::streamsize size) override;
  int_type overflow(int_type c) override;
  int sync() override;

  std::ostream& target_;
  std::string begun_;  // the bytes of a character whose end is not yet written
};

class PrintableStream : public std::ostream {
 public:
  /// The target must outlive it.
  explicit PrintableStream(std::ostream& target) : std::ostream(nullptr), buffer_(target) {
    rdbuf(&buffer_);
  }

 private:
  PrintableBuffer buffer_;
};

}  // namespace trainyard

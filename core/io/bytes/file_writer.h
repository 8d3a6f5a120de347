// This file writes files, and nothing else in the programs does: the old file is replaced at once
// or not at all, and what is no file is never replaced.
#pragma once

#include <string>
#include <string_view>

namespace trainyard {

/// A FileWriter fills a new file beside the old one, and finish() puts it in the old one's place.
/// The end of a symbolic link is what is replaced, an existing file keeps its permissions, and
/// another name of the old file (a hard link) keeps the old bytes. Writers of one path wait for
/// each other, in one process and in several. One that is killed leaves the old file and at most
/// one hidden file beside it, which the next writer of that path removes.
class FileWriter {
 public:
  enum class Takes {
    Files,       // refuses everything else
    StreamsToo,  // writes to a terminal, character device, pipe, /dev/stdout or /dev/fd/N as it
                 // goes
  };

  /// Blocks while another writer of that path is at work. Throws Error{InvalidInput} where the path
  /// leads to what is not taken, saying what that is; Error{Io} where no file can be made there.
  explicit FileWriter(const std::string& path, Takes = Takes::Files);
  /// Without finish(), the old file is unchanged.
  ~FileWriter();
  FileWriter(const FileWriter&) = delete;
  FileWriter& operator=(const FileWriter&) = delete;

  /// Throws Error{Io}.
  void write(std::string_view);
  /// Returns when file and folder are on the disk. Throws Error{Io}; the old file is then
  /// unchanged, unless the sentence says that only its folder could not be flushed.
  void finish();

 private:
  void close();

  std::string path_;             // as it was given, for messages
  std::string target_, beside_;  // beside_ is empty for a stream, and after finish()
  int descriptor_ = -1;
};

/// Replaces a file by one with that content. Blocks. Throws as FileWriter does.
void write_file_atomically(const std::string& path, std::string_view content);
/// Does the same, and writes to streams too: for a path that a person typed for output.
void write_file(const std::string& path, std::string_view content);
/// Throws what a FileWriter would, as far as that is known without writing: so that hours of work
/// do not end in a sentence about a path.
void expect_writable(const std::string& path, FileWriter::Takes = FileWriter::Takes::Files);

}  // namespace trainyard

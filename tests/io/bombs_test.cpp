// Tests files made to burst, one of each way and format: a text, a line, nesting, a count, gzip.
// Each must end in a sentence, in memory that its size does not decide.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include <cstdio>
#include <filesystem>
#include <functional>
#include <string>

#include "core/base/error.h"
#include "core/io/bytes/files.h"
#include "core/io/bytes/limits.h"
#include "core/io/json/json.h"
#include "core/io/models/gguf_header.h"
#include "core/io/models/hf_config_import.h"
#include "core/io/models/onnx_import.h"
#include "core/io/models/safetensors_header.h"
#include "core/io/snapshots/memory_snapshot_import.h"
#include "core/io/traces/chrome_trace_import.h"
#include "core/io/traces/nsys_csv_import.h"
#include "core/io/traces/recorded_trace_file.h"
#include "tests/support/cases.h"

namespace trainyard {
namespace {

namespace fs = std::filesystem;

// Sanitizers keep shadows of memory, and what was freed for a while.
#if defined(__SANITIZE_ADDRESS__)
constexpr std::int64_t kOverhead = 4;
#else
constexpr std::int64_t kOverhead = 1;
#endif

struct BombEnd {
  std::string sentence;  // "accepted" where there was none
  Bytes grown{};         // by how much the process that read it grew
};

Bytes peak_now(int who) {
  rusage used{};
  getrusage(who, &used);
  return Bytes{std::int64_t{used.ru_maxrss} * 1024};
}

// Reads in a process of its own, because a peak never falls again.
BombEnd end_of(const std::function<void()>& read) {
  int ends[2] = {-1, -1};
  if (pipe(ends) != 0) return {"no pipe", {}};
  const pid_t child = fork();
  if (child == 0) {
    std::string said = "accepted";
    const Bytes before = peak_now(RUSAGE_SELF);
    try {
      read();
    } catch (const Error& error) {
      said = describe(error);
    } catch (const std::exception& error) {
      said = std::string("not a sentence: ") + error.what();
    }
    said = std::to_string((peak_now(RUSAGE_SELF) - before).value) + " " + said;
    const ssize_t written = write(ends[1], said.data(), std::min<std::size_t>(said.size(), 4000));
    _exit(written > 0 ? 0 : 1);
  }
  close(ends[1]);
  std::string said;
  char block[4096];
  for (ssize_t got = 0; (got = ::read(ends[0], block, sizeof block)) > 0;)
    said.append(block, static_cast<std::size_t>(got));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  const std::size_t space = said.find(' ');
  if (status != 0 || space == std::string::npos) return {"died", {}};
  return {said.substr(space + 1), Bytes{std::stoll(said.substr(0, space))}};
}

void expect_refused(const BombEnd& end, const std::string& words, Bytes most = 64_MiB) {
  EXPECT_NE(end.sentence.find(words), std::string::npos) << end.sentence;
  EXPECT_LT(end.grown.value, most.value * kOverhead) << end.sentence;
}

class BombFile {
 public:
  /// The beginning, and then the same text until there are so many bytes, packed.
  BombFile(const std::string& name, const std::string& begin, const std::string& more, Bytes size)
      : path_(fs::temp_directory_path() / (std::to_string(getpid()) + name)) {
    std::string block;
    while (block.size() < 1 << 20) block += more;
    const gzFile file = gzopen(path_.c_str(), "wb1");
    gzwrite(file, begin.data(), static_cast<unsigned>(begin.size()));
    for (std::int64_t done = 0; done < size.value; done += static_cast<std::int64_t>(block.size()))
      gzwrite(file, block.data(), static_cast<unsigned>(block.size()));
    gzclose(file);
  }
  ~BombFile() { fs::remove(path_); }
  BombFile(const BombFile&) = delete;
  BombFile& operator=(const BombFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

constexpr const char* kBegin = R"({"traceEvents": [{"ph": "X", "ts": 1, "dur": 1, "name": ")";

TEST(Bombs, OneTextOfATrace) {
  const BombFile name("name.json.gz", kBegin, "a", 256_MiB);
  expect_refused(end_of([&] { import_chrome_trace(name.path()); }), "a text of more than 1.00 MiB");
  const BombFile escaped("escaped.json.gz", kBegin, "\\n", 256_MiB);
  expect_refused(end_of([&] { import_chrome_trace(escaped.path()); }),
                 "a text of more than 1.00 MiB");
  const BombFile number("number.json.gz", R"({"traceEvents": [{"ts": 1)", "1", 256_MiB);
  expect_refused(end_of([&] { import_chrome_trace(number.path()); }),
                 "a text of more than 1.00 MiB");
  // The extent is scanned, and no text of it is kept.
  expect_refused(end_of([&] { chrome_trace_extent(name.path()); }),
                 "expected gzip that unpacks to");
}

TEST(Bombs, NestingOfATrace) {
  const BombFile deep("deep.json.gz", "", "[", 256_MiB);
  expect_refused(end_of([&] { import_chrome_trace(deep.path()); }), "at most 200 lists");
}

// What fits before it is seen that the file unpacks out of all proportion is one part.
TEST(Bombs, EventsOfAPackedTrace) {
  const BombFile events("events.json.gz", "[",
                        R"({"ph":"X","ts":1,"dur":1,"name":"a","pid":0,"tid":0},)", 512_MiB);
  expect_refused(end_of([&] { import_chrome_trace(events.path()); }),
                 "expected gzip that unpacks to at most 128 times its size", 1024_MiB);
}

TEST(Bombs, OneLineOfATable) {
  const std::string header = "Start (ns),Duration (ns),Device,Strm,Name\n";
  const BombFile line("line.csv.gz", header + "1,1,0,0,", "a", 256_MiB);
  expect_refused(end_of([&] { import_nsys_csv(line.path()); }), "expected a row of at most");
  const BombFile quoted("quoted.csv.gz", header + "1,1,0,0,\"", "\n", 256_MiB);
  expect_refused(end_of([&] { import_nsys_csv(quoted.path()); }), "expected a row of at most");
  const BombFile cells("cells.csv.gz", header + "1", ",", 256_MiB);
  expect_refused(end_of([&] { import_nsys_csv(cells.path()); }), "and 4096 cells");
}

TEST(Bombs, ADocument) {
  const auto parse = [](const std::string& text) {
    return end_of([&] { parse_json(text, "bomb"); });
  };
  expect_refused(parse(std::string(100'000'000, '[')), "at most 200 levels of nesting");
  // Sanitizers take more than a minute for so many values.
  std::string list = "[0";
  for (int i = 0; i < 20'000'000 && !testing::sanitized(); ++i) list += ",0";
  if (!testing::sanitized())
    expect_refused(parse(list + "]"), "expected at most 16777216 values", 2048_MiB);
  const std::string large(static_cast<std::size_t>(kLargestDocument.value) + 1, ' ');
  expect_refused(parse(large), "expected at most 256 MiB of JSON");
  expect_refused(end_of([&] { import_hf_config(std::string(100'000'000, '['), "c.json"); }),
                 "at most 200 levels of nesting", 256_MiB);
}

// A few bytes that promise more than there can be.
TEST(Bombs, CountsOfHeaders) {
  const std::string huge = "\xff\xff\xff\xff\xff\xff\xff\x0f";
  const std::pair<const char*, std::function<void()>> promises[] = {
      {"expected a header of at most 100 MiB",
       [&] { parse_safetensors_header(huge + "{}", std::int64_t{1} << 62, "s"); }},
      {"expected",
       [&] { parse_gguf_header("GGUF\x03" + std::string(3, '\0') + huge + huge, 24, "g"); }},
      {"expected", [&] { import_onnx("\x3a" + huge + "\x01" + huge, "o.onnx"); }},
      {"expected", [&] { parse_memory_snapshot("\x80\x04\x8d" + huge, "p"); }},
      {"expected a line of at most 1.00 MiB",
       [&] {
         parse_memory_snapshot(
             "\x80\x02"
             "V" +
                 std::string(8 << 20, 'a'),
             "p");
       }},
  };
  for (const auto& [words, read] : promises) expect_refused(end_of(read), words);
  std::string counts = recorded_trace_bytes({});
  counts.replace(counts.size() / 2, 8, huge);
  expect_refused(end_of([&] { parse_recorded_trace(counts, "t"); }), "expected");
}

}  // namespace
}  // namespace trainyard

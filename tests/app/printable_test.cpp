// Tests that text from outside reaches the terminal without a byte on which it would act, whichever
// verb prints it: names, notes, events, words that were typed.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "app/cli/printable_stream.h"
#include "app/cli/verb.h"
#include "core/base/printable.h"
#include "tests/app/trainyard.h"
#include "tests/support/non_empty.h"

namespace trainyard {
namespace {

// In JSON: an escape sequence, a bell, DEL and the C1 character that begins a sequence too.
constexpr const char* kHostile = R"(\u001b]0;owned\u0007\u007f\u009b31m)";
// The same as bytes, with one that is no UTF-8.
constexpr const char* kHostileBytes = "\x1b]0;owned\x07\x7f\xc2\x9b\x33\x31m\x9b";

void expect_plain(const std::string& text, const std::string& of) {
  EXPECT_EQ(printable(text), text) << of;
  EXPECT_NE(text.find("owned"), std::string::npos) << of << " prints " << text;
}

void write(const TemporaryFolder& folder, const char* name, const std::string& text) {
  std::ofstream(folder.path() / name) << text;
}

TEST(PrintableOutput, NoNameActsOnTheTerminal) {
  const TemporaryFolder folder;
  const std::string name = kHostile;
  write(folder, "cluster.json",
        R"({"schema": "trainyard/cluster@1", "name": "c)" + name +
            R"(", "count": 8, "device": {"base": "h100-sxm", "name": "d)" + name + R"("}})");
  write(folder, "trace.json",
        R"({"traceEvents": [{"ph": "X", "cat": "kernel", "name": "k)" + name +
            R"(", "pid": 0, "tid": 7, "ts": 1, "dur": 5, "args": {"stream": 7}}]})");
  write(folder, "plan.json",
        R"({"schema": "trainyard/plan@1", "name": "p)" + name + R"(", "optimizer": "o)" + name +
            R"("})");
  const char* lines[] = {
      "simulate --model gpt-tiny --cluster cluster.json --set global-batch=8",
      "simulate --model gpt-tiny --cluster cluster.json --set global-batch=8 --json",
      "simulate --model gpt-tiny --cluster h100-sxm:8 --plan plan.json",
      "trace trace.json",
  };
  for (const char* line : testing::non_empty(lines)) {
    const Ran ran = trainyard(line, folder);
    expect_plain(ran.out + ran.err, line);
  }
}

TEST(PrintableOutput, NoWordActsOnTheTerminal) {
  const TemporaryFolder folder;
  const std::string word = kHostileBytes;
  const std::vector<std::string> lines[] = {
      {word},
      {"simulate", "--model", word},
      {"simulate", "--model", "gpt2", "--cluster", word + ":8"},
      {"simulate", "--model", "gpt2", "--cluster", "h100-sxm:8", "--set", "tp=" + word},
      {"simulate", "--" + word},
      {"trace", word},
      {"help", word},
  };
  for (const std::vector<std::string>& words : testing::non_empty(lines)) {
    const Ran ran = run_program(TRAINYARD_PROGRAM, words, folder.path());
    EXPECT_EQ(ran.exit, kWrongInput);
    expect_plain(ran.out + ran.err, words.back());
  }
}

TEST(PrintableOutput, NotesAreShownEscaped) {
  const TemporaryFolder folder;
  const Ran trained =
      trainyard("run --model gpt-tiny --cluster cpu:1 --set global-batch=2 --steps 1", folder);
  ASSERT_EQ(trained.exit, kDone) << trained.err;
  const Ran noted =
      run_program(TRAINYARD_PROGRAM, {"runs", "note", "1", kHostileBytes}, folder.path());
  ASSERT_EQ(noted.exit, kDone) << noted.err;
  for (const char* line : {"runs", "runs show 1", "runs --json"})
    expect_plain(trainyard(line, folder).out, line);
}

// A character may arrive in pieces, and its end may never come.
TEST(PrintableOutput, PiecesOfACharacterAreOne) {
  const std::string text = "caf\xc3\xa9 \xf0\x9f\x9a\x82 \xc2\x9b \xe2\x80";
  for (std::size_t step = 1; step < text.size(); ++step) {
    std::ostringstream target;
    {
      PrintableStream stream(target);
      for (std::size_t at = 0; at < text.size(); at += step) stream << text.substr(at, step);
    }
    EXPECT_EQ(target.str(), "caf\xc3\xa9 \xf0\x9f\x9a\x82 \\u009b \\xe2\\x80") << step;
  }
}

}  // namespace
}  // namespace trainyard

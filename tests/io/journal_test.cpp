#include "core/io/documents/journal.h"

#include <gtest/gtest.h>

#include <rapidcheck.h>

namespace trainyard {
namespace {

Project project_with(int edits) {
  Project project;
  project.model = "llama-3-8b";
  project.cluster = "h100-sxm:8";
  project.plans = {{"A", "", {"global-batch=" + std::to_string(edits)}}};
  return project;
}

std::string journal_of(int edits) {
  std::string text;
  for (int i = 1; i <= edits; ++i)
    text += journal_line({"/a/b.trainyard", "Edit " + std::to_string(i), project_with(i)});
  return text;
}

TEST(Journal, ALineReadsBackAsItself) {
  const JournalEntry entry{"/a/\"b\"\n.trainyard", "Set tp", project_with(3)};
  const std::string line = journal_line(entry);
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  const auto end = read_journal(line);
  ASSERT_TRUE(end);
  EXPECT_EQ(end->last, entry);
  EXPECT_EQ(end->entries, 1U);
}

TEST(Journal, NothingIsNoEntry) {
  for (const char* text : {"", "\n", "{", "{}\n", "[1]\n\n"})
    EXPECT_FALSE(read_journal(text)) << text;
}

// Wherever a crash cuts the file, every line that was whole is still there.
TEST(Journal, CutAnywhereKeepsEveryWholeLine) {
  const std::string text = journal_of(4);
  int whole = 0;
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    if (cut > 0 && text[cut - 1] == '\n') ++whole;
    const auto end = read_journal(std::string_view(text).substr(0, cut));
    ASSERT_EQ(end.has_value(), whole > 0) << cut;
    if (end) {
      EXPECT_EQ(end->last.project, project_with(whole)) << cut;
    }
  }
}

// A broken end does not hide the entries confirmed before it.
TEST(Journal, BrokenLinesArePassedOver) {
  const bool held = rc::check("garbage after whole lines", [] {
    const int edits = *rc::gen::inRange(1, 5);
    const auto garbage = *rc::gen::container<std::string>(rc::gen::arbitrary<char>());
    const auto end = read_journal(journal_of(edits) + garbage + "\n");
    RC_ASSERT(end.has_value());
    RC_ASSERT(end->last.project == project_with(edits));
  });
  EXPECT_TRUE(held);
}

}  // namespace
}  // namespace trainyard

// Tests notes on pairs of results, stored with the project.
#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/io/documents/project.h"

namespace trainyard {
namespace {

TEST(ProjectNotes, AreOfAPairInEitherOrder) {
  Project project = with_note({}, "A", "B", "B wins by its bubble");
  EXPECT_EQ(note_on(project, "B", "A"), "B wins by its bubble");
  EXPECT_EQ(note_on(project, "A", "C"), "");
  project = with_note(project, "B", "A", "or does it");
  EXPECT_EQ(project.notes.size(), 1u);
  EXPECT_EQ(note_on(project, "A", "B"), "or does it");
  EXPECT_TRUE(with_note(project, "A", "B", "").notes.empty());
}

TEST(ProjectNotes, AreInTheDocument) {
  const Project project = with_note({}, "A", "run:7", "two\nlines");
  EXPECT_EQ(parse_project(project_document(project), "p").notes, project.notes);
  EXPECT_EQ(project_document({}).find("notes"), std::string::npos);
  EXPECT_THROW(parse_project(R"({"schema": "trainyard/project@1", "notes": [{"a": "A"}]})", "p"),
               Error);
}

}  // namespace
}  // namespace trainyard

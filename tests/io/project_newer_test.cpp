// Tests projects that a newer Trainyard wrote.
#include <gtest/gtest.h>

#include "core/io/documents/project.h"

namespace trainyard {
namespace {

TEST(NewerProject, IsReadAsFarAsItIsUnderstood) {
  const std::string text = R"({"schema": "trainyard/project@99", "model": "gpt2",
    "cluster": "h100-sxm:8", "plans": [{"name": "A", "settings": ["tp=2"], "colour": "red"}],
    "shape": {"a": 1}})";
  const ProjectFile file = read_project(text, "new.trainyard");
  EXPECT_TRUE(file.newer);
  EXPECT_EQ(file.version, 99);
  EXPECT_EQ(file.project.model, "gpt2");
  EXPECT_EQ(file.unknown, (std::vector<std::string>{"#/shape", "#/plans/0/colour"}));
}

TEST(NewerProject, SavedAgainLosesNothing) {
  const std::string text = R"({"schema": "trainyard/project@99", "model": "gpt2",
    "plans": [{"name": "A", "settings": ["tp=2"], "colour": "red"}], "shape": {"a": 1}})";
  ProjectFile file = read_project(text, "new.trainyard");
  file.project = with_setting(file.project, 0, "tp", "4");
  const std::string saved = project_document(file.project, file.original);
  const ProjectFile again = read_project(saved, "again");
  EXPECT_EQ(again.version, 99);
  EXPECT_EQ(again.unknown, file.unknown);
  EXPECT_EQ(again.project, file.project);
  EXPECT_EQ(project_document(again.project, again.original), saved);
}

TEST(NewerProject, WhatIsKnownMustStillBeRight) {
  EXPECT_THROW(read_project(R"({"schema": "trainyard/project@99", "model": 3})", "x"), Error);
  EXPECT_THROW(read_project(R"({"schema": "trainyard/plan@1"})", "x"), Error);
  EXPECT_THROW(read_project(R"({"schema": "trainyard/project@1", "shape": 1})", "x"), Error);
}

}  // namespace
}  // namespace trainyard

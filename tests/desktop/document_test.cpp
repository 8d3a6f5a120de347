#include "app/desktop/session/document.h"

#include <gtest/gtest.h>

#include "core/io/bytes/files.h"
#include "tests/desktop/support.h"
#include "tests/support/non_empty.h"

namespace trainyard {
namespace {

std::string text(const Document& document) { return project_document(document.project()); }

struct Change {
  const char* name;
  void (*make)(Document&);
};

const Change kChanges[] = {
    {"model", [](Document& d) { d.set_model("gpt2"); }},
    {"cluster", [](Document& d) { d.set_cluster("a100-sxm-80:16"); }},
    {"setting", [](Document& d) { d.set_setting("tp", "4"); }},
    {"new setting", [](Document& d) { d.set_setting("zero", "2"); }},
    {"several settings", [](Document& d) { d.apply("Apply", {"tp=4", "recompute=full"}); }},
    {"plan file", [](Document& d) { d.use_plan_file("plans/1f1b.json"); }},
    {"duplicate", [](Document& d) { d.duplicate_plan(); }},
    {"rename", [](Document& d) { d.rename_plan("baseline"); }},
    {"remove", [](Document& d) { d.remove_plan(); }},
};

void fill(Document& document) {
  document.set_model("llama-3-8b");
  document.set_cluster("h100-sxm:8");
  document.set_setting("tp", "2");
  document.duplicate_plan();
  document.set_setting("pp", "2");
}

TEST(Document, EveryChangeIsUndoneAndRedone) {
  for (const Change& change : kChanges) {
    Document document;
    fill(document);
    const std::string before = text(document);
    change.make(document);
    const std::string after = text(document);
    EXPECT_NE(before, after) << change.name;
    document.undo_stack().undo();
    EXPECT_EQ(text(document), before) << change.name;
    document.undo_stack().redo();
    EXPECT_EQ(text(document), after) << change.name;
  }
}

TEST(Document, AllChangesUndoneLeaveWhatWas) {
  Document document;
  const std::string empty = text(document);
  fill(document);
  for (const Change& change : kChanges) change.make(document);
  while (document.undo_stack().canUndo()) document.undo_stack().undo();
  EXPECT_EQ(text(document), empty);
}

TEST(Document, StepsOfOneSettingAreOneStepOfUndo) {
  Document document;
  fill(document);
  const int before = document.undo_stack().count();
  for (const char* value : {"4", "8", "16"}) document.set_setting("tp", value);
  EXPECT_EQ(document.undo_stack().count(), before + 1);
  document.undo_stack().undo();
  EXPECT_EQ(own_setting(*document.plan(), "tp"), "2");
}

TEST(Document, LookingIsNotAChange) {
  Document document;
  fill(document);
  const int before = document.undo_stack().count();
  document.show_plan(0);
  document.show_perspective("analyse");
  document.set_automatic(false);
  EXPECT_EQ(document.undo_stack().count(), before);
  document.undo_stack().undo();
  EXPECT_EQ(document.project().perspective, "analyse");
}

TEST(Document, IsTheSameAfterSavingAndLoading) {
  const Folder folder;
  Document document;
  fill(document);
  EXPECT_TRUE(document.modified());
  const QString path = folder.place.filePath("a.trainyard");
  document.save(path);
  EXPECT_FALSE(document.modified());
  Document other;
  other.load(path);
  EXPECT_EQ(other.project(), document.project());
  EXPECT_EQ(read_file(path.toStdString()), text(document));
  EXPECT_EQ(recent_files().value(0), path);
}

TEST(Document, AFailedSaveLeavesTheOldFileAndTheChange) {
  const Folder folder;
  Document document;
  fill(document);
  const QString path = folder.place.filePath("a.trainyard");
  document.save(path);
  const std::string old = read_file(path.toStdString());
  document.set_setting("tp", "8");
  EXPECT_THROW(document.save(folder.place.filePath("no such folder/a.trainyard")), Error);
  EXPECT_TRUE(document.modified());
  EXPECT_EQ(document.path(), path);
  EXPECT_EQ(read_file(path.toStdString()), old);
}

TEST(Document, SavingLeavesNothingElseBehind) {
  const Folder folder;
  Document document;
  fill(document);
  for (int i = 0; i < 3; ++i) document.save(folder.place.filePath("a.trainyard"));
  EXPECT_EQ(QDir(folder.place.path()).entryList(QDir::Files | QDir::Hidden),
            QStringList{"a.trainyard"});
}

struct Wrong {
  const char* content;
  const char* sentence;  // part of what is said
};

TEST(Document, AWrongProjectIsRefusedAndChangesNothing) {
  const Wrong wrong[] = {
      {"", "JSON"},
      {"{", "1:2"},
      {"[]", "expected"},
      {R"({"schema": "trainyard/plan@1"})", "project"},
      {R"({"schema": "trainyard/project@1", "modle": "x"})", "model"},
      {R"({"schema": "trainyard/project@1", "model": 3})", "#/model"},
      {R"({"schema": "trainyard/project@1", "plans": {}})", "#/plans"},
      {R"({"schema": "trainyard/project@1", "plans": [{"settings": []}]})", "name"},
      {R"({"schema": "trainyard/project@1", "plans": [{"name": "A", "settings": [8]}]})",
       "#/plans/0/settings/0"},
      {R"({"schema": "trainyard/project@1", "plans": [{"name": "A", "marks": [{"from_ns": 1}]}]})",
       "to_ns"},
      {R"({"schema": "trainyard/project@1", "plans":
           [{"name": "A", "marks": [{"from_ns": 9, "to_ns": 8}]}]})",
       "#/plans/0/marks/0/to_ns"},
      {R"({"schema": "trainyard/project@1", "current": 1})", "#/current"},
      {R"({"schema": "trainyard/project@1", "perspective": "analyze"})", "#/perspective"},
      {R"({"schema": "trainyard/project@1", "automatic": "yes"})", "#/automatic"},
  };
  const Folder folder;
  Document document;
  fill(document);
  const std::string before = text(document);
  for (const Wrong& w : testing::non_empty(wrong)) {
    const std::string file = folder.file("wrong.trainyard", w.content);
    try {
      document.load(QString::fromStdString(file));
      ADD_FAILURE() << "not refused: " << w.content;
    } catch (const Error& error) {
      EXPECT_NE(describe(error).find(w.sentence), std::string::npos) << describe(error);
      EXPECT_NE(describe(error).find("wrong.trainyard"), std::string::npos) << describe(error);
    }
    EXPECT_EQ(text(document), before);
  }
}

TEST(NewerDocument, IsReadOnlyAndKeptWhole) {
  const Folder folder;
  const QString path = QString::fromStdString(folder.file("new.trainyard", R"({"schema":
    "trainyard/project@99", "model": "gpt2", "plans": [{"name": "A", "settings": []}],
    "shape": {"a": 1}})"));
  Document document;
  document.load(path);
  EXPECT_TRUE(document.read_only());
  document.set_setting("tp", "2");
  EXPECT_THROW(document.save(path), Error);
  const QString copy = folder.place.filePath("copy.trainyard");
  document.save(copy);
  EXPECT_FALSE(document.read_only());
  document.set_setting("tp", "4");
  document.save(copy);
  Document again;
  again.load(copy);
  EXPECT_EQ(again.unknown(), std::vector<std::string>{"#/shape"});
  EXPECT_EQ(own_setting(*again.plan(), "tp"), "4");
}

}  // namespace
}  // namespace trainyard

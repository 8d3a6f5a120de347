// Confirmed edits are still there after the program was killed.
#include <gtest/gtest.h>

#include <QProcess>
#include <csignal>
#include <random>

#include "app/desktop/dialogs/recovery_dialog.h"
#include "app/desktop/session/journal_keeper.h"
#include "app/desktop/shell/state_file.h"
#include "core/io/json/json.h"
#include "tests/desktop/editor.h"
#include "tests/desktop/support.h"

namespace trainyard {
namespace {

int kills() {
  const int wanted = qEnvironmentVariableIntValue("TRAINYARD_KILLS");
  return wanted > 0 ? wanted : 3;
}

std::string batch(const JournalEntry& entry) {
  return own_setting(entry.project.plans.at(0), "global-batch");
}

// The number in the last whole line that the editor printed.
int confirmed_in(const QByteArray& said) {
  const qsizetype end = said.lastIndexOf('\n');
  if (end < 0) return 0;
  const qsizetype start = said.lastIndexOf('\n', end - 1) + 1;
  return said.mid(start, end - start).toInt();
}

// Another process edits and says which edits are confirmed; killed at any moment, its journal has
// at least those, and no half edit.
TEST(Recovery, NothingConfirmedIsLostByKilling) {
  std::mt19937 random(7);
  for (int i = 0; i < kills(); ++i) {
    const Folder folder;
    QProcess editor;
    QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
    environment.insert(kEditorFolder, folder.place.path());
    environment.insert("QT_QPA_PLATFORM", "offscreen");
    editor.setProcessEnvironment(environment);
    editor.start(QCoreApplication::applicationFilePath(), QStringList{});
    ASSERT_TRUE(editor.waitForStarted(60'000));
    const int wanted = static_cast<int>(random() % 40) + 1;
    QByteArray said;
    while (confirmed_in(said) < wanted && editor.waitForReadyRead(60'000))
      said += editor.readAllStandardOutput();
    QThread::usleep(random() % 3000);
    ASSERT_GT(editor.processId(), 0);
    ::kill(static_cast<pid_t>(editor.processId()), SIGKILL);
    ASSERT_TRUE(editor.waitForFinished(60'000));
    said += editor.readAllStandardOutput();
    const int confirmed = confirmed_in(said);
    ASSERT_GE(confirmed, wanted);
    const std::vector<LostWork> lost = lost_work(folder.place.path());
    ASSERT_EQ(lost.size(), 1U);
    const int kept = std::stoi(batch(lost[0].end.last));
    EXPECT_GE(kept, confirmed);
    EXPECT_LE(kept, confirmed + 1) << "one edit at most was under way";
  }
}

TEST(Recovery, AJournalThatIsBeingWrittenIsNobodysLoss) {
  const Folder folder;
  JournalFile journal(folder.place.path());
  journal.append({"", "Set tp", Project{}});
  EXPECT_TRUE(lost_work(folder.place.path()).empty());
  EXPECT_TRUE(QFile::exists(journal.path()));
}

TEST(Recovery, SavingAndClosingLeaveNoJournal) {
  const Folder folder, project;
  Document document;
  JournalKeeper keeper(document, folder.place.path());
  document.set_model("gpt2");
  EXPECT_EQ(QDir(folder.place.path()).entryList({"*.journal"}).size(), 1);
  document.save(project.place.filePath("a.trainyard"));
  EXPECT_TRUE(QDir(folder.place.path()).entryList({"*.journal"}).isEmpty());
  document.set_model("gpt2-xl");
  EXPECT_EQ(QDir(folder.place.path()).entryList({"*.journal"}).size(), 1);
  document.clear();
  EXPECT_TRUE(QDir(folder.place.path()).entryList({"*.journal"}).isEmpty());
}

TEST(Recovery, WhatWasLostIsAChangeOfItsFile) {
  const Folder journals, projects;
  const QString path = projects.place.filePath("a.trainyard");
  {
    Document before;
    JournalKeeper keeper(before, journals.place.path());
    before.set_model("gpt2");
    before.save(path);
    before.set_setting("tp", "4");
  }  // gone without a word: the journal stays
  const std::vector<LostWork> lost = lost_work(journals.place.path());
  ASSERT_EQ(lost.size(), 1U);
  EXPECT_EQ(lost_work_title(lost[0]), "a.trainyard, gpt2, plan A   TP 4");
  Document after;
  recover(after, lost[0].end.last);
  EXPECT_EQ(after.path(), path);
  EXPECT_TRUE(after.modified());
  EXPECT_EQ(own_setting(*after.plan(), "tp"), "4");
  after.undo_stack().undo();
  EXPECT_EQ(own_setting(*after.plan(), "tp"), "");
  forget(lost[0]);
  EXPECT_TRUE(lost_work(journals.place.path()).empty());
}

TEST(Recovery, ALongJournalStartsAnewAndKeepsTheLast) {
  const Folder folder;
  {
    JournalFile journal(folder.place.path());
    Project project;
    project.model = std::string(200'000, 'm');
    for (int i = 0; i < 60; ++i) {
      project.current = 0;
      project.cluster = std::to_string(i);
      journal.append({"", "Edit", project});
    }
  }
  EXPECT_EQ(QDir(folder.place.path()).entryList({"*.journal"}).size(), 1);
  const std::vector<LostWork> lost = lost_work(folder.place.path());
  ASSERT_EQ(lost.size(), 1U);
  EXPECT_EQ(lost[0].end.last.project.cluster, "59");
  EXPECT_LT(lost[0].end.entries, 60U);
}

TEST(StateFile, SaysWhatIsShown) {
  const auto window = window_with(small_plan());
  const Json state = parse_json(window_state(*window, 3), "state");
  EXPECT_EQ(*state.find("perspective")->text(), "design");
  EXPECT_EQ(*state.find("verdict")->text(),
            window->session().experiment()->result.verdict.sentence);
  EXPECT_EQ(*state.find("settled")->boolean(), true);
  int found = 0;
  for (const Json& widget : *state.find("widgets")->as_list())
    found += *widget.find("name")->text() == "Simulate" ? 1 : 0;
  EXPECT_GE(found, 1);
  EXPECT_EQ(window_state(*window, 3), window_state(*window, 3));
}

}  // namespace
}  // namespace trainyard

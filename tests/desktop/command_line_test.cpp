#include "app/desktop/shell/command_line.h"

#include <gtest/gtest.h>

#include <QFile>
#include <QProcess>
#include <QTemporaryDir>

#include "app/desktop/shell/perspective.h"
#include "tests/support/non_empty.h"

namespace trainyard {
namespace {

CommandLine parse(const QStringList& words) {
  return parse_command_line(QStringList{"trainyard-desktop"} + words);
}

TEST(CommandLine, ReadsAScenario) {
  const CommandLine line = parse({"--model", "llama-3-70b", "--cluster", "h100-sxm:64", "--set",
                                  "tp=8", "--set", "pp=4", "--theme", "light", "--renderer", "soft",
                                  "--perspective", "analyse", "--size", "1440x900"});
  EXPECT_EQ(line.request.model, "llama-3-70b");
  EXPECT_EQ(line.request.cluster, "h100-sxm:64");
  EXPECT_EQ(line.request.settings, (std::vector<std::string>{"tp=8", "pp=4"}));
  EXPECT_EQ(line.theme, Theme::Light);
  EXPECT_EQ(line.renderer, RendererChoice::Software);
  EXPECT_EQ(line.perspective, "analyse");
  EXPECT_EQ(parse({"--perspective", "planner", "--tab", "sweep"}).perspective, "planner")
      << "a name of old stands for its tab";
  EXPECT_EQ(line.size, QSize(1440, 900));
}

TEST(CommandLine, RefusesWithThePlace) {
  const std::pair<QStringList, std::string> wrong[] = {
      {{"--theme", "blue"}, "--theme: expected dark or light, found \"blue\""},
      {{"--size", "big"},
       "--size: expected a size from 100x100 to 8192x8192, such as 1600x1000, found \"big\""},
      {{"--size", "99999x99999"},
       "--size: expected a size from 100x100 to 8192x8192, such as 1600x1000, found "
       "\"99999x99999\""},
      {{"--set", "tp=2", "--set", "tp=4"}, "--set: expected tp once, found \"tp=2\" and \"tp=4\""},
      {{"--perspective", "analyze"},
       "--perspective: expected " + perspective_names().toStdString() + ", found \"analyze\""},
      {{"--tab", "pareto"}, "--tab: expected " + tab_names().toStdString() + ", found \"pareto\""},
      {{"--state", "/dev"}, "/dev: expected a regular file, found a folder"},
  };
  for (const auto& [words, sentence] : testing::non_empty(wrong)) {
    try {
      parse(words);
      ADD_FAILURE() << sentence;
    } catch (const Error& error) {
      EXPECT_EQ(describe(error), sentence);
    }
  }
  try {
    parse({"--command", "edit.undoo"});
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_NE(describe(error).find("\"edit.undo\""), std::string::npos) << describe(error);
  }
  EXPECT_THROW(parse({"--renderer", "glide"}), Error);
  EXPECT_THROW(parse({"--no-such-option"}), Error);
}

struct Ended {
  int code = 0;
  QString out, err;
};

Ended ended(const QProcessEnvironment& environment, const QStringList& words) {
  QProcess program;
  program.setProcessEnvironment(environment);
  program.start(TRAINYARD_DESKTOP_PROGRAM, words);
  EXPECT_TRUE(program.waitForFinished(60'000));
  EXPECT_EQ(program.exitStatus(), QProcess::NormalExit);
  return {program.exitCode(), program.readAllStandardOutput(), program.readAllStandardError()};
}

// Runs the program without a display.
Ended without_display(const QStringList& words) {
  QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
  for (const char* name : {"DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"})
    environment.remove(name);
  return ended(environment, words);
}

TEST(CommandLine, AScreenshotOfABrokenFileEndsWithASentence) {
  const QTemporaryDir folder;
  const QString file = folder.filePath("broken.json"), picture = folder.filePath("picture.png");
  QFile broken(file);
  ASSERT_TRUE(broken.open(QFile::WriteOnly));
  broken.write("{");
  broken.close();
  QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
  environment.insert("QT_QPA_PLATFORM", "offscreen");
  const Ended shot = ended(environment, {"--screenshot", picture, file});
  EXPECT_EQ(shot.code, 2);
  EXPECT_EQ(shot.err, file + ":1:2: expected JSON, found the end of the text\n");
  EXPECT_FALSE(QFile::exists(picture));
}

TEST(CommandLine, AScreenshotOfAnUnknownModelEndsWithASentence) {
  const QTemporaryDir folder;
  const QString picture = folder.filePath("picture.png");
  QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
  environment.insert("QT_QPA_PLATFORM", "offscreen");
  const auto refused = [&](const QStringList& words) {
    const Ended shot = ended(environment, QStringList{"--screenshot", picture} + words);
    EXPECT_EQ(shot.code, 2) << words.join(' ').toStdString();
    EXPECT_FALSE(QFile::exists(picture)) << words.join(' ').toStdString();
    return shot.err;
  };
  EXPECT_EQ(refused({"--model", "mlp-smal"}),
            "--model: expected the name of a model in the zoo, found \"mlp-smal\"; did you mean "
            "\"mlp-small\"?\n");
  EXPECT_TRUE(
      refused({"--model", "mlp-small", "--cluster", "nosuch"}).startsWith("cluster \"nosuch\""));
  EXPECT_TRUE(refused({"--model", "mlp-small", "--set", "foo=3"})
                  .startsWith("--set: no setting is called \"foo\""));
}

TEST(CommandLine, WithoutADisplayThereIsASentence) {
  const Ended window = without_display({});
  EXPECT_EQ(window.code, 1);
  EXPECT_TRUE(window.err.startsWith("There is no display")) << window.err.toStdString();
  const Ended help = without_display({"--help"});
  EXPECT_EQ(help.code, 0);
  EXPECT_TRUE(help.out.contains("--perspective"));
  EXPECT_TRUE(help.err.isEmpty()) << help.err.toStdString();
}

}  // namespace
}  // namespace trainyard

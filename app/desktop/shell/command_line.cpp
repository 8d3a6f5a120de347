#include "app/desktop/shell/command_line.h"

#include <QCommandLineParser>
#include <QRegularExpression>

#include <algorithm>
#include <string>
#include <vector>

#include "app/desktop/controls/text.h"
#include "app/desktop/shell/commands.h"
#include "app/desktop/shell/perspective.h"
#include "app/workspace/scenario/setting_words.h"
#include "core/base/nearest.h"
#include "core/io/bytes/file_writer.h"
#include "core/io/documents/project.h"

namespace trainyard {
namespace {

constexpr int kMostSide = 8192;  // pixels: the largest picture that every renderer can make

[[noreturn]] void refuse_option(const char* option, const QString& expected, const QString& found) {
  throw Error(Error::Kind::InvalidInput,
              "expected " + expected.toStdString() + ", found \"" + found.toStdString() + "\"",
              {std::string("--") + option});
}

void expect_command(const QString& name) {
  std::vector<std::string> names;
  for (const Command& command : commands()) names.emplace_back(command.id);
  const std::string word = name.toStdString();
  if (std::find(names.begin(), names.end(), word) == names.end())
    throw Error(
        Error::Kind::InvalidInput,
        "expected the name of a command, found \"" + word + "\"" + did_you_mean(word, names),
        {"--command"});
}

QSize size_of(const QString& text) {
  static const QRegularExpression form("^(\\d{3,5})x(\\d{3,5})$");
  const QRegularExpressionMatch match = form.match(text);
  const QSize size(match.captured(1).toInt(), match.captured(2).toInt());
  if (!match.hasMatch() || std::max(size.width(), size.height()) > kMostSide)
    refuse_option("size", QString("a size from 100x100 to %1x%1, such as 1600x1000").arg(kMostSide),
                  text);
  return size;
}

Theme theme_of(const QString& text) {
  if (text == "dark") return Theme::Dark;
  if (text == "light") return Theme::Light;
  refuse_option("theme", "dark or light", text);
}

}  // namespace

CommandLine parse_command_line(const QStringList& arguments) {
  QCommandLineParser parser;
  parser.setApplicationDescription(
      "Designs the training of a neural network before it is paid for.");
  parser.addHelpOption();
  parser.addPositionalArgument("file", "a project, a model's config.json, a cluster or a plan",
                               "[FILE...]");
  parser.addOption({"model", "a zoo name, a config.json or its folder", "M"});
  parser.addOption({"cluster", "device:count with options, or a cluster file", "C"});
  parser.addOption({"plan", "a plan file", "P"});
  parser.addOption({"set", "one setting of the plan; may be given again", "key=value"});
  parser.addOption({"renderer", "auto, vulkan or soft; also TRAINYARD_RENDERER", "name"});
  parser.addOption({"theme", "dark or light", "name"});
  parser.addOption({"perspective", perspective_names(), "name"});
  parser.addOption({"search", "searches for plans at once"});
  parser.addOption({"tab", tab_names(), "name"});
  parser.addOption({"lesson", "opens a lesson, a number or a name, at a step: 3:4", "lesson"});
  parser.addOption({"screenshot", "saves the window as PNG when all is drawn, and leaves", "file"});
  parser.addOption(
      {"command", "runs a command by its name, such as edit.undo; may be given again", "name"});
  parser.addOption(
      {"fresh", "starts with no settings and nothing of the last session, and keeps no journal"});
  parser.addOption(
      {"state", "a JSON file that says what the window shows, after every change", "file"});
  parser.addOption({"size", "of the window", "WxH"});
  if (!parser.parse(arguments))
    throw Error(Error::Kind::InvalidInput, parser.errorText().toStdString(), {"command line"});
  if (parser.isSet("help")) parser.showHelp();
  CommandLine line;
  line.files = parser.positionalArguments();
  line.request = {parser.value("model").toStdString(),
                  parser.value("cluster").toStdString(),
                  parser.value("plan").toStdString(),
                  {}};
  for (const QString& word : parser.values("set"))
    line.request.settings.push_back(word.toStdString());
  refuse_repeated_keys(line.request.settings, {"--set"});
  const QString renderer = parser.isSet("renderer") ? parser.value("renderer")
                                                    : qEnvironmentVariable("TRAINYARD_RENDERER");
  if (!renderer.isEmpty()) line.renderer = renderer_choice(renderer.toStdString());
  if (parser.isSet("theme")) line.theme = theme_of(parser.value("theme"));
  line.perspective = parser.value("perspective");
  if (!line.perspective.isEmpty() &&
      find_perspective(q(shown_part(line.perspective.toStdString()).perspective)) == nullptr)
    refuse_option("perspective", perspective_names(), line.perspective);
  line.search = parser.isSet("search");
  line.tab = parser.value("tab");
  if (!line.tab.isEmpty() && perspective_of_tab(line.tab) == nullptr)
    refuse_option("tab", tab_names(), line.tab);
  line.lesson = parser.value("lesson");
  line.commands = parser.values("command");
  for (const QString& name : line.commands) expect_command(name);
  line.fresh = parser.isSet("fresh");
  line.state = parser.value("state");
  if (parser.isSet("state")) expect_writable(line.state.toStdString());
  line.screenshot = parser.value("screenshot");
  if (parser.isSet("size")) line.size = size_of(parser.value("size"));
  return line;
}

}  // namespace trainyard

// trainyard-desktop: the program with the window.
#include <QAction>
#include <QApplication>
#include <QBuffer>
#include <QMetaType>
#include <QStatusBar>
#include <QTimer>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "app/desktop/controls/complaint.h"
#include "app/desktop/controls/preferences.h"
#include "app/desktop/controls/theme.h"
#include "app/desktop/dialogs/recovery_dialog.h"
#include "app/desktop/session/journal_keeper.h"
#include "app/desktop/shell/command_line.h"
#include "app/desktop/shell/key_bindings.h"
#include "app/desktop/shell/state_file.h"
#include "app/desktop/shell/window.h"
#include "app/workspace/scenario/workspace.h"
#include "core/base/error.h"
#include "core/io/bytes/file_writer.h"
#include "visualizers/memory/kept_memory.h"

namespace trainyard {
namespace {

bool save_picture(Window& window, const QString& file) {
  QBuffer bytes;
  try {
    window.grab().save(&bytes, "PNG");
    write_file(file.toStdString(), bytes.data().toStdString());
    return true;
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", describe(error).c_str());
    return false;
  }
}

// Checks periodically whether everything is drawn, then saves the picture and exits.
void take_screenshot(Window& window, const QString& file) {
  auto* timer = new QTimer(&window);
  timer->setInterval(50);
  QObject::connect(timer, &QTimer::timeout, &window, [&window, timer, file, calm = 0]() mutable {
    calm = window.settled() ? calm + 1 : 0;
    if (calm < 4) return;
    timer->stop();
    QApplication::exit(save_picture(window, file) ? 0 : 1);
  });
  timer->start();
}

// Runs are not stored if there is no place for them, and the list says so.
void keep_runs(Window& window) {
  try {
    window.runs().use(run_store_path());
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", describe(error).c_str());
  }
}

// An unattended start must not touch the user's session and journals.
bool unattended(const CommandLine& line) { return line.fresh || !line.screenshot.isEmpty(); }

// A complaint is the end of a screenshot, because it has no one to ask what else to show.
void end_at_complaints() {
  answer_complaints([](const QString& sentence) {
    std::fprintf(stderr, "%s\n", qPrintable(sentence));
    std::_Exit(2);
  });
}

void offer_lost_work(Window& window) {
  std::vector<LostWork> works = lost_work(journal_folder());
  if (works.empty()) return;
  RecoveryDialog dialog(std::move(works), &window);
  if (dialog.exec() != QDialog::Accepted) return;
  if (const auto work = dialog.chosen()) {
    recover(window.document(), work->end.last);
    forget(*work);  // the new journal already contains it
  }
}

void run_commands(Window& window, const QStringList& names) {
  auto* timer = new QTimer(&window);
  timer->setInterval(50);
  QObject::connect(timer, &QTimer::timeout, &window, [&window, timer, names] {
    if (!window.settled()) return;
    timer->stop();
    for (const QString& name : names) window.actions_of()[name]->trigger();
  });
  timer->start();
}

int run(QApplication& application) {
  const CommandLine line = parse_command_line(QApplication::arguments());
  const Preferences preferences = unattended(line) ? Preferences{} : load_preferences();
  use(preferences);
  if (line.renderer) use_renderer(*line.renderer);
  apply_theme(application, line.theme.value_or(theme_of(preferences.theme)));
  if (!line.screenshot.isEmpty()) {
    end_at_complaints();
    open_named(line.request);  // the window would stand there and say what is wrong
  }
  Window window;
  keep_runs(window);
  window.resize(line.size);
  JournalKeeper* keeper = nullptr;
  if (!unattended(line)) {
    const bool asked = !line.request.model.empty() || !line.files.isEmpty();
    load_keys(window.actions_of());
    window.restore_session(preferences.restore && !asked);
    if (line.size != CommandLine{}.size)
      window.resize(line.size);  // a requested size overrides the last one
    else
      window.fit_screen();
    keeper = new JournalKeeper(window.document(), journal_folder());
    QObject::connect(keeper, &JournalKeeper::not_kept, &window, [&window](const QString& why) {
      window.statusBar()->showMessage("The edit stands, but no journal could keep it: " + why);
    });
  }
  if (!line.request.model.empty()) window.start_with(line.request);
  if (!line.files.isEmpty()) window.show();  // a complaint about a file needs a window behind it
  window.open_files(line.files);
  if (!line.perspective.isEmpty()) window.document().show_perspective(line.perspective);
  if (!line.tab.isEmpty()) window.show_tab(line.tab);
  if (!line.lesson.isEmpty()) window.show_lesson(line.lesson);
  window.show();
  if (line.search) window.actions_of()["plan.search"]->trigger();
  if (keeper != nullptr) QTimer::singleShot(0, &window, [&window] { offer_lost_work(window); });
  if (!line.commands.isEmpty()) run_commands(window, line.commands);
  if (!line.state.isEmpty()) new StateFile(window, line.state);
  if (!line.screenshot.isEmpty()) take_screenshot(window, line.screenshot);
  const int code = QApplication::exec();
  if (keeper != nullptr) keeper->discard();  // closing the window has asked whether to save
  return code;
}

// Qt aborts if it finds no display; this prints a message instead.
void say_no_display(QtMsgType type, const QMessageLogContext&, const QString&) {
  if (type != QtFatalMsg) return;
  std::fputs(
      "There is no display to open the window on. On the terminal, trainyard does the same; a "
      "picture of the window needs none: QT_QPA_PLATFORM=offscreen trainyard-desktop --screenshot "
      "FILE.png\n",
      stderr);
  std::_Exit(1);
}

bool asks_for_help(int argc, char** argv) {
  return std::any_of(argv, argv + argc, [](const char* word) {
    return std::string_view(word) == "--help" || std::string_view(word) == "-h";
  });
}

}  // namespace
}  // namespace trainyard

int main(int argc, char** argv) {
  trainyard::keep_freed_memory();
  if (trainyard::asks_for_help(argc, argv)) {
    QCoreApplication words(argc, argv);
    trainyard::parse_command_line({QString::fromLocal8Bit(argv[0]), "--help"});
  }
  const QtMessageHandler usual = qInstallMessageHandler(trainyard::say_no_display);
  QApplication application(argc, argv);
  qInstallMessageHandler(usual);
  QApplication::setApplicationName("trainyard");
  QApplication::setOrganizationName("trainyard");
  try {
    return trainyard::run(application);
  } catch (const trainyard::Error& error) {
    std::fprintf(stderr, "%s\n", describe(error).c_str());
    return error.kind() == trainyard::Error::Kind::InvalidInput ? 2 : 1;
  }
}

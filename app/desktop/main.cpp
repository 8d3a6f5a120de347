// trainyard-desktop: the window.
#include <QAction>
#include <QApplication>
#include <QMetaType>
#include <QSettings>
#include <QTimer>

#include <cstdio>

#include "app/desktop/canvas_widget.h"
#include "app/desktop/command_line.h"
#include "app/desktop/theme.h"
#include "app/desktop/window.h"

namespace trainyard {
namespace {

Theme theme_of(const CommandLine& line) {
  if (line.theme) return *line.theme;
  const QString kept = QSettings().value("theme").toString();
  if (kept.isEmpty()) return system_theme();
  return kept == "light" ? Theme::Light : Theme::Dark;
}

// Looks every so often whether all is drawn; then saves the picture and leaves.
void take_screenshot(Window& window, const QString& file) {
  auto* timer = new QTimer(&window);
  timer->setInterval(50);
  QObject::connect(timer, &QTimer::timeout, &window, [&window, timer, file, calm = 0]() mutable {
    calm = window.settled() ? calm + 1 : 0;
    if (calm < 4) return;
    timer->stop();
    const bool saved = window.grab().save(file, "PNG");
    if (!saved) std::fprintf(stderr, "%s: expected a file that can be written\n", qPrintable(file));
    QApplication::exit(saved ? 0 : 1);
  });
  timer->start();
}

// Without a place for them they are not kept, and the list says so.
void keep_runs(Window& window) {
  try {
    window.runs().use(run_store_path());
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", describe(error).c_str());
  }
}

int run(QApplication& application) {
  const CommandLine line = parse_command_line(QApplication::arguments());
  use_renderer(line.renderer.value_or(RendererChoice::Auto));
  apply_theme(application, theme_of(line));
  Window window;
  keep_runs(window);
  window.resize(line.size);
  if (!line.request.model.empty()) window.start_with(line.request);
  for (const QString& file : line.files) window.open_file(file);
  if (!line.perspective.isEmpty()) window.document().show_perspective(line.perspective);
  if (!line.tab.isEmpty()) window.show_tab(line.tab);
  if (!line.lesson.isEmpty()) window.show_lesson(line.lesson);
  window.show();
  if (line.search) window.actions_of()["plan.search"]->trigger();
  if (!line.screenshot.isEmpty()) take_screenshot(window, line.screenshot);
  return QApplication::exec();
}

}  // namespace
}  // namespace trainyard

int main(int argc, char** argv) {
  QApplication application(argc, argv);
  QApplication::setApplicationName("trainyard");
  QApplication::setOrganizationName("trainyard");
  try {
    return trainyard::run(application);
  } catch (const trainyard::Error& error) {
    std::fprintf(stderr, "%s\n", describe(error).c_str());
    return error.kind() == trainyard::Error::Kind::InvalidInput ? 2 : 1;
  }
}

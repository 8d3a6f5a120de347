// Every command of the window in one table: menu, palette and the sheet of shortcuts are made from
// it, so that help never differs from what happens.
#pragma once

#include <QHash>
#include <QKeySequence>
#include <QObject>
#include <QString>

#include <span>

class QAction;
class QMenu;
class QMenuBar;
class QWidget;

namespace trainyard {

struct Command {
  const char* id;        // "file.open"
  const char* menu;      // "File"; "View/Tabs" is a menu in a menu
  const char* text;      // "Open…"
  const char* shortcut;  // portable text, "" = none; several separated by ';'
  const char* help;      // one sentence
  bool checkable = false;
};
/// Those of perspectives, their tabs and lessons among them: "view.analyse", "view.timeline",
/// "learn.3".
std::span<const Command> commands();
struct Lesson;
QString lesson_command(const Lesson&);

/// Keys that work while a canvas has the focus; the canvas reads them itself.
struct CanvasKey {
  const char* keys;
  const char* help;
};
std::span<const CanvasKey> canvas_keys();

/// The commands as actions of one window.
class Actions : public QObject {
  Q_OBJECT

 public:
  explicit Actions(QWidget* window);
  QAction* operator[](const QString& id) const;  // asserts that it exists
  /// Menus in the order of the table.
  void fill(QMenuBar*) const;
  QMenu* menu(const QString& name) const { return menus_.value(name); }

 private:
  QHash<QString, QAction*> actions_;
  mutable QHash<QString, QMenu*> menus_;
};

}  // namespace trainyard

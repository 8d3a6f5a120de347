// Actions are the commands of one window, by the names in the table of commands: a page connects
// those that are its own and need not know the window.
#pragma once

#include <QHash>
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
  const char* menu;      // "File"; "View/Tabs" is a submenu
  const char* text;      // "Open…"
  const char* shortcut;  // portable text, "" = none; several separated by ';'
  const char* help;      // one sentence
  bool checkable = false;
};
struct Lesson;
/// The command of a lesson, such as "learn.3".
QString lesson_command(const Lesson&);

/// The commands as actions of one window.
class Actions : public QObject {
  Q_OBJECT

 public:
  /// The commands must outlive the window.
  Actions(QWidget* window, std::span<const Command>);
  QAction* operator[](const QString& id) const;  // asserts that it exists
  /// Fills the menu bar in the order of the table.
  void fill(QMenuBar*) const;
  QMenu* menu(const QString& name) const { return menus_.value(name); }

 private:
  std::span<const Command> commands_;
  QHash<QString, QAction*> actions_;
  mutable QHash<QString, QMenu*> menus_;
};

}  // namespace trainyard

#include "app/desktop/controls/actions.h"

#include <QAction>
#include <QKeySequence>
#include <QMenu>
#include <QMenuBar>
#include <QStringList>

#include "core/lesson/lesson_text.h"

namespace trainyard {

QString lesson_command(const Lesson& lesson) { return QString("learn.%1").arg(lesson.number); }

Actions::Actions(QWidget* window, std::span<const Command> commands)
    : QObject(window), commands_(commands) {
  for (const Command& c : commands_) {
    auto* action = new QAction(QString::fromUtf8(c.text), window);
    action->setObjectName(c.id);
    action->setCheckable(c.checkable);
    action->setToolTip(QString::fromUtf8(c.help));
    action->setStatusTip(action->toolTip());
    QList<QKeySequence> keys;
    for (const QString& key : QString(c.shortcut).split(';', Qt::SkipEmptyParts))
      keys << QKeySequence(key, QKeySequence::PortableText);
    action->setShortcuts(keys);
    action->setShortcutContext(Qt::WindowShortcut);
    window->addAction(action);
    actions_.insert(c.id, action);
  }
}

QAction* Actions::operator[](const QString& id) const {
  QAction* action = actions_.value(id);
  Q_ASSERT_X(action != nullptr, "Actions", qPrintable("no command is called " + id));
  return action;
}

void Actions::fill(QMenuBar* bar) const {
  for (const Command& c : commands_) {
    QMenu*& menu = menus_[c.menu];
    if (menu == nullptr) {
      const QStringList path = QString(c.menu).split('/');
      menu = path.size() == 1 ? bar->addMenu(path[0]) : menus_[path[0]]->addMenu(path[1]);
      menu->setAccessibleName(path.last());
    }
    menu->addAction(actions_.value(c.id));
  }
}

}  // namespace trainyard

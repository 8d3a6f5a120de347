#include "app/desktop/shell/key_bindings.h"

#include <QAction>
#include <QSettings>

#include "app/desktop/shell/commands.h"

namespace trainyard {
namespace {

QString kept_name(const QString& command) { return "keys/" + command; }

QList<QKeySequence> parse_keys(const QString& text) {
  QList<QKeySequence> keys;
  for (const QString& key : text.split(';', Qt::SkipEmptyParts))
    keys << QKeySequence(key, QKeySequence::PortableText);
  return keys;
}

// Returns whether fields and canvases handle the key themselves.
bool is_typed(const QKeySequence& key) {
  if (key.isEmpty()) return false;
  const QKeyCombination first = key[0];
  const bool held =
      first.keyboardModifiers() & (Qt::ControlModifier | Qt::AltModifier | Qt::MetaModifier);
  return !held && (first.key() < Qt::Key_F1 || first.key() > Qt::Key_F35);
}

bool clash(const QKeySequence& a, const QKeySequence& b) {
  return a.matches(b) != QKeySequence::NoMatch || b.matches(a) != QKeySequence::NoMatch;
}

}  // namespace

QList<QKeySequence> default_keys(const QString& command) {
  for (const Command& each : commands())
    if (command == each.id) return parse_keys(each.shortcut);
  return {};
}

QString keys_text(const QList<QKeySequence>& keys) {
  QStringList words;
  for (const QKeySequence& key : keys) words << key.toString(QKeySequence::NativeText);
  return words.join(", ");
}

QString key_refusal(const Actions& actions, const QString& command, const QKeySequence& key) {
  if (key.isEmpty()) return {};
  const QString text = key.toString(QKeySequence::NativeText);
  if (is_typed(key))
    return QString("%1 is typed into fields and canvases; hold Ctrl or Alt, or take a function key")
        .arg(text);
  for (const Command& other : commands()) {
    if (command == other.id) continue;
    for (const QKeySequence& taken : actions[other.id]->shortcuts())
      if (clash(key, taken))
        return QString("%1 already runs \"%2\"; give that another key first")
            .arg(text, QString::fromUtf8(other.text));
  }
  return {};
}

void load_keys(Actions& actions) {
  const QSettings kept;
  for (const Command& command : commands()) {
    if (!kept.contains(kept_name(command.id))) continue;
    QList<QKeySequence> keys;
    for (const QKeySequence& key : parse_keys(kept.value(kept_name(command.id)).toString()))
      if (key_refusal(actions, command.id, key).isEmpty()) keys << key;
    actions[command.id]->setShortcuts(keys);
  }
}

QString set_key(Actions& actions, const QString& command, const QKeySequence& key) {
  const QString refusal = key_refusal(actions, command, key);
  if (!refusal.isEmpty()) return refusal;
  actions[command]->setShortcuts(key.isEmpty() ? QList<QKeySequence>{} : QList{key});
  QSettings().setValue(kept_name(command), key.toString(QKeySequence::PortableText));
  return {};
}

QString reset_keys(Actions& actions, const QString& command) {
  for (const QKeySequence& key : default_keys(command))
    if (const QString refusal = key_refusal(actions, command, key); !refusal.isEmpty())
      return refusal;
  actions[command]->setShortcuts(default_keys(command));
  QSettings().remove(kept_name(command));
  return {};
}

void reset_all_keys(Actions& actions) {
  QSettings().remove("keys");
  for (const Command& command : commands())
    actions[command.id]->setShortcuts(default_keys(command.id));
}

}  // namespace trainyard

// Key bindings are the keys that a user has changed: they are stored in the settings, override the
// table of commands, and never assign one key to two commands.
#pragma once

#include <QKeySequence>
#include <QList>
#include <QString>

namespace trainyard {

class Actions;

/// The keys in the table of commands.
QList<QKeySequence> default_keys(const QString& command);

/// Replaces the table's keys by the stored ones. Stored keys that another command now has are left
/// out.
void load_keys(Actions&);
/// Why the command cannot have the key, as a sentence; empty if it can.
QString key_refusal(const Actions&, const QString& command, const QKeySequence&);
/// Makes this the command's only key; an empty sequence removes its keys. Returns key_refusal(),
/// and changes nothing if that is not empty.
QString set_key(Actions&, const QString& command, const QKeySequence&);
/// Restores the table's keys. Returns the reason if another command has one of them.
QString reset_keys(Actions&, const QString& command);
void reset_all_keys(Actions&);

/// The keys as text, such as "Ctrl+O, Ctrl+L", for tooltips of menus, the sheet and the palette;
/// empty if there are none.
QString keys_text(const QList<QKeySequence>&);

}  // namespace trainyard

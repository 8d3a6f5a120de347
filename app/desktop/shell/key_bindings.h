// Keys that people changed: kept in their settings, put over the table of commands, and never two
// commands on one key.
#pragma once

#include <QKeySequence>
#include <QList>
#include <QString>

namespace trainyard {

class Actions;

/// Of the table.
QList<QKeySequence> default_keys(const QString& command);

/// Puts what is kept in place of the table's keys. Kept keys that another command has by now are
/// left out.
void load_keys(Actions&);
/// Why the command cannot have the key, as a sentence; empty where it can.
QString key_refusal(const Actions&, const QString& command, const QKeySequence&);
/// The command's only key from now on; an empty one: none. Returns key_refusal(), and changes
/// nothing where that says something.
QString set_key(Actions&, const QString& command, const QKeySequence&);
/// Those of the table again. Returns why it cannot be, where another command has one of them.
QString reset_keys(Actions&, const QString& command);
void reset_all_keys(Actions&);

/// "Ctrl+O, Ctrl+L": for menus' tooltips, the sheet and the palette; empty where there is none.
QString keys_text(const QList<QKeySequence>&);

}  // namespace trainyard

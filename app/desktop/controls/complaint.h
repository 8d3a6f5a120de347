// A complaint is a message box that says what did not work.
#pragma once

#include <QString>

class QWidget;

namespace trainyard {

/// Shows what failed and why, and waits until it is closed. Paths in the sentence stay on one line
/// as far as the screen has room.
void complain(QWidget* parent, const QString& what, const QString& sentence);

}  // namespace trainyard

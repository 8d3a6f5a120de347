// A complaint is a message box that says what did not work.
#pragma once

#include <QString>

#include <functional>

class QWidget;

namespace trainyard {

/// Shows what failed and why, and waits until it is closed. Paths in the sentence stay on one line
/// as far as the screen has room.
void complain(QWidget* parent, const QString& what, const QString& sentence);

/// Hands the sentence of every later complaint to this function, and shows no box: where nobody
/// sits before the window, nobody would close it.
void answer_complaints(std::function<void(const QString& sentence)>);

}  // namespace trainyard

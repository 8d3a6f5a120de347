// A SearchBar lies over the timeline; the user types a text to search for, or an instant to go to.
#pragma once

#include <QWidget>

#include "app/desktop/session/exploration.h"

class QLabel;
class QLineEdit;
class QToolButton;

namespace trainyard {

/// It is hidden until requested. Enter and Shift+Enter go to the next and previous hit; Esc closes
/// the bar and ends the search.
class SearchBar : public QWidget {
  Q_OBJECT

 public:
  explicit SearchBar(Exploration&, QWidget* parent = nullptr);
  void find();
  void go_to_time();

 Q_SIGNALS:
  void closed();

 protected:
  void keyPressEvent(QKeyEvent*) override;
  bool eventFilter(QObject*, QEvent*) override;

 private:
  enum class Mode { Find, GoTo };
  void open(Mode);
  void enter(int by);
  void close_bar();
  void refresh();

  Exploration& exploration_;
  Mode mode_ = Mode::Find;
  QLabel* what_;
  QLineEdit* edit_;
  QLabel* told_;
  QToolButton *previous_, *next_, *close_;
};

}  // namespace trainyard

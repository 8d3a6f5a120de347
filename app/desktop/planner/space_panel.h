// What a search may change: each knob with its values, on or off; what the open plan fixes; what is
// searched for; and the button that starts it.
#pragma once

#include <QWidget>

#include <map>
#include <optional>

#include "app/desktop/session/document.h"
#include "app/desktop/session/planning.h"

class QLabel;
class QLineEdit;
class QProgressBar;
class QPushButton;
class QToolButton;
class QVBoxLayout;

namespace trainyard {

class ChipRow;
class Field;

class SpacePanel : public QWidget {
  Q_OBJECT

 public:
  SpacePanel(Document&, Planning&, QWidget* parent = nullptr);

  /// Of the document's plan and what is on; nothing without a model and a plan.
  std::optional<PlanQuestion> question() const;
  PlanWish wish() const;
  /// Everything that a search's answer hangs on, as text: another text is another search.
  QString fingerprint() const;
  /// Reads the document anew.
  void refresh();

 Q_SIGNALS:
  void changed();  // the space or the wish, by a person
  void start();
  void stop();

 private:
  struct Row {
    QWidget* box = nullptr;
    QLabel* state = nullptr;
    QToolButton* fix = nullptr;
    ChipRow* chips = nullptr;
    QStringList usual;                // on where nobody says otherwise
    std::optional<QStringList> mine;  // what a person chose; nothing = usual
    QString own;                      // the open plan's
  };
  QWidget* make_search();
  QWidget* make_limits();
  void add_row(const std::string& key);
  void show_row(Row&);
  void toggle_fixed(Row&);
  void refresh_progress();
  void refresh_fixed(const Scenario*);

  Document& document_;
  Planning& planning_;
  std::map<std::string, Row> rows_;
  QLabel *count_, *state_, *size_, *fixed_, *error_;
  QProgressBar* bar_;
  QPushButton* run_;
  QLineEdit *batch_, *sequence_;
  Field *objective_, *spare_;
};

}  // namespace trainyard

// A SpacePanel sets what a search may change: each knob with its values on or off, what the open
// plan fixes, and the objective; its button starts the search.
#pragma once

#include <map>
#include <optional>

#include "app/desktop/planner/question_panel.h"
#include "app/desktop/session/document.h"
#include "app/desktop/session/planning.h"

class QLabel;
class QLineEdit;
class QToolButton;
class QVBoxLayout;

namespace trainyard {

class ChipRow;
class Field;

class SpacePanel : public QuestionPanel {
  Q_OBJECT

 public:
  SpacePanel(Document&, Planning&, QWidget* parent = nullptr);

  /// The question about the document's plan and the values that are on; empty without a model and a
  /// plan.
  std::optional<PlanQuestion> question() const;
  PlanWish wish() const;
  /// Everything on which a search's result depends, as text: different texts are different
  /// searches.
  QString fingerprint() const;
  /// Reads the document again.
  void refresh();

 private:
  struct Row {
    QWidget* box = nullptr;
    QLabel* state = nullptr;
    QToolButton* fix = nullptr;
    ChipRow* chips = nullptr;
    QStringList usual;                // values that are on by default
    std::optional<QStringList> mine;  // the user's choice; empty = the default
    QString own;                      // the open plan's value
  };
  QWidget* make_fields();
  QWidget* make_limits();
  void add_row(const std::string& key);
  void show_row(Row&);
  void toggle_fixed(Row&);
  void refresh_progress();
  void refresh_fixed(const Scenario*);

  Document& document_;
  Planning& planning_;
  std::map<std::string, Row> rows_;
  QLabel* fixed_;
  QLineEdit *batch_, *sequence_;
  Field *objective_, *spare_;
};

}  // namespace trainyard

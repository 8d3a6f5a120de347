// A StrategyPanel shows every setting of the current plan, one row each, with the cost and gain of
// its neighbouring values, marks those because of which it cannot run, and shows whether it fits
// and what would help. No row moves while one of them is turned.
#pragma once

#include <QWidget>

#include "app/desktop/controls/actions.h"
#include "app/desktop/session/document.h"
#include "app/desktop/session/session.h"

class QHBoxLayout;
class QLabel;
class QPushButton;
class QScrollArea;
class QVBoxLayout;

namespace trainyard {

class BudgetField;
class FitCard;
class StrategyRow;

class StrategyPanel : public QWidget {
  Q_OBJECT

 public:
  StrategyPanel(Document&, Session&, QWidget* parent = nullptr);
  void set_detailed(bool);
  /// Adds the buttons at its foot, which lead to the next steps.
  void connect_commands(const Actions&);

 private:
  void set(const QString& key, const QString& value);
  void refresh_values();
  void refresh_effects();
  void refresh_apply();
  void show_mesh();
  void settle();
  Document& document_;
  Session& session_;
  FitCard* card_;
  BudgetField* budget_;
  QLabel* heading_;
  QLabel* mesh_;
  QScrollArea* scroll_;
  QWidget* inside_;      // the content of the scroll area
  QVBoxLayout* column_;  // the layout of the content
  QHBoxLayout* foot_;
  QList<QPushButton*> of_design_, of_analysis_;  // buttons at the foot
  QPushButton* apply_ = nullptr;                 // one of them
  QList<StrategyRow*> rows_;
  bool detailed_ = false;
};

}  // namespace trainyard

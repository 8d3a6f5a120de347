// The strategy: every setting of the current plan, one row each, with what its neighbours would
// cost and gain; and above them, when the plan does not fit, by how much and what would help.
#pragma once

#include <QWidget>

#include "app/desktop/document.h"
#include "app/desktop/session.h"

class QLabel;
class QVBoxLayout;

namespace trainyard {

class FitCard;
class StrategyRow;

class StrategyPanel : public QWidget {
  Q_OBJECT

 public:
  StrategyPanel(Document&, Session&, QWidget* parent = nullptr);
  void set_detailed(bool);

 private:
  void set(const QString& key, const QString& value);
  void refresh_values();
  void refresh_effects();
  Document& document_;
  Session& session_;
  FitCard* card_;
  QLabel* heading_;
  QLabel* mesh_;
  QLabel* complaint_;  // why a degree could not be what was asked
  QList<StrategyRow*> rows_;
  bool detailed_ = false;
};

}  // namespace trainyard

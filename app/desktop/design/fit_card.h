// A FitCard shows whether the plan fits: the peak as a bar of its categories beside the capacity,
// and the priced changes that would make the plan fit or faster; of a plan that cannot run, why.
#pragma once

#include <QWidget>

#include "app/desktop/session/session.h"

class QGridLayout;
class QLabel;

namespace trainyard {

/// The bar stacks categories as in a wave, draws the capacity as a line and hatches the excess.
class FitBar : public QWidget {
 public:
  explicit FitBar(Session& session) : session_(session) { setFixedHeight(34); }

 protected:
  void paintEvent(QPaintEvent*) override;

 private:
  Session& session_;
};

class FitCard : public QWidget {
  Q_OBJECT

 public:
  explicit FitCard(Session&, QWidget* parent = nullptr);

 Q_SIGNALS:
  void apply(const QString& assignments);

 private:
  void refresh();
  void show_problem(const PlanProblem&);
  void show_verdict(const Result&);
  QGridLayout* grid() const;
  void clear_fixes();
  void add_cells(const QStringList&, int row, const char* tone);
  QLabel* add_fix(const std::string& set, const QStringList& figures, int row);
  Session& session_;
  QLabel *head_, *story_;
  QWidget* fixes_;
};

}  // namespace trainyard

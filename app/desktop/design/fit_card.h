// Whether the plan fits, as a card: the peak as a bar of what it is made of beside the capacity,
// and the priced changes that would make it fit.
#pragma once

#include <QWidget>

#include "app/desktop/session/session.h"

class QGridLayout;
class QLabel;

namespace trainyard {

/// The bar: categories from the bottom of a wave to its top, the capacity as a line, what is over
/// it hatched.
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
  /// Only shown while a plan does not fit, unless detailed.
  void set_detailed(bool);

 Q_SIGNALS:
  void apply(const QString& assignments);

 private:
  void refresh();
  void list_fixes(const std::vector<Fix>&);
  Session& session_;
  bool detailed_ = false;
  QLabel *head_, *story_;
  QWidget* fixes_;
};

}  // namespace trainyard

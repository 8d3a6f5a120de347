// A FitCard shows whether the plan fits: the peak as a bar of its categories beside the capacity,
// and the priced changes that would make the plan fit.
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
  /// Unless detailed, the card is only shown while a plan does not fit.
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

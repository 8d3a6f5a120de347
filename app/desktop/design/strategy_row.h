// A StrategyRow is one setting of a plan: its control, and the simulated effect of one step down or
// up on step time and peak.
#pragma once

#include <QWidget>

#include "app/desktop/session/plan_words.h"
#include "app/desktop/session/session.h"
#include "core/methods/settings/settings.h"

class QLabel;

namespace trainyard {

struct Method;
class Field;
class Stepper;

class StrategyRow : public QWidget {
  Q_OBJECT

 public:
  StrategyRow(const Setting&, Session&, QWidget* parent = nullptr);

  /// The value shown; a `derived` one cannot be set.
  void set_value(const QString&, bool derived);
  void refresh_effects();
  /// Chooses one line (Analyse), or a card with the meaning and both neighbours (Design).
  void set_detailed(bool);
  QString key() const;
  QString value() const { return value_; }

  /// Marks the control as the cause of a fault, in one sentence; empty: of none.
  void mark(const QString& fault);

 Q_SIGNALS:
  void changed(const QString& key, const QString& value);

 protected:
  void resizeEvent(QResizeEvent*) override;

 private:
  void step(int direction);
  const Method* method() const;
  QString meaning() const;
  QString paper() const;
  void show_neighbour(const NeighbourPlan&);
  QString effect_html(const NeighbourPlan&, int width) const;
  void show_both(const NeighbourPlan* down, const NeighbourPlan* up);
  void fit_control();

  const Setting& setting_;
  Session& session_;
  QString value_;
  QString explained_;  // the tooltip of a control without a fault
  bool detailed_ = false;
  Field* field_ = nullptr;      // for settings with a list of words
  Stepper* stepper_ = nullptr;  // for the others
  QWidget* control_;
  QLabel *title_, *doc_, *next_, *step_, *peak_, *detail_;
};

/// Returns whether a compact panel shows the setting too.
bool is_principal(std::string_view key);
/// The words that a setting may have; empty if it takes any value.
QStringList setting_words(const Setting&);

}  // namespace trainyard

// A StrategyRow is one setting of a plan: its control, and the simulated effect of one step down or
// up on step time and peak.
#pragma once

#include <QWidget>

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

 Q_SIGNALS:
  void changed(const QString& key, const QString& value);

 private:
  void step(int direction);
  const Method* method() const;
  QString meaning() const;
  QString paper() const;
  void show_neighbour(const NeighbourPlan&);
  QString effect_html(const NeighbourPlan&) const;

  const Setting& setting_;
  Session& session_;
  QString value_;
  bool detailed_ = false;
  Field* field_ = nullptr;      // for settings with a list of words
  Stepper* stepper_ = nullptr;  // for the others
  QWidget* control_;
  QLabel *title_, *doc_, *next_, *step_, *peak_, *detail_;
};

/// The title of a setting: "Tensor" for "tp", "Global batch" for "global-batch".
QString setting_title(std::string_view key);
/// Returns whether a compact panel shows the setting too.
bool is_principal(std::string_view key);
/// The words that a setting may have; empty if it takes any value.
QStringList setting_words(const Setting&);

}  // namespace trainyard

// A SettingsDialog sets the user's preferences: look, wheel, numbers, renderer and keys. Every
// choice takes effect at once.
#pragma once

#include <QDialog>

#include "app/desktop/controls/preferences.h"

class QKeySequenceEdit;
class QLabel;
class QTabWidget;
class QTreeWidget;

namespace trainyard {

class Actions;

class SettingsDialog : public QDialog {
  Q_OBJECT

 public:
  SettingsDialog(Actions&, QWidget* parent = nullptr);
  void show_keys();
  /// What was wrong with the last key; empty if nothing was.
  QString refusal() const;

 Q_SIGNALS:
  void changed(const trainyard::Preferences&);

 private:
  QWidget* make_general();
  QWidget* make_keys();
  void refresh_keys();
  QString chosen() const;

  Actions& actions_;
  Preferences preferences_;
  QTabWidget* tabs_;
  QTreeWidget* keys_;
  QKeySequenceEdit* key_;
  QLabel* refusal_;
};

}  // namespace trainyard

// The ToolBar lies under the menus: perspectives, the plan, Simulate, whether the result is up to
// date, undo and export.
#pragma once

#include <QWidget>

#include "app/desktop/session/document.h"
#include "app/desktop/session/session.h"
#include "app/desktop/shell/commands.h"

class QCheckBox;
class QLabel;
class QPushButton;
class QStackedWidget;
class QToolButton;

namespace trainyard {

class Field;
class Segment;

class ToolBar : public QWidget {
  Q_OBJECT

 public:
  ToolBar(Document&, Session&, const Actions&, QWidget* parent = nullptr);
  void set_running(bool);
  void set_training(bool);
  /// Shows a widget in place of the plan and takes ownership of it; null: the plan.
  void show_tools(QWidget*);
  /// Sets whether to show the buttons that simulate and train the open plan; a running training can
  /// always be stopped.
  void show_plan_buttons(bool);
  /// Draws the icons in the colours of the theme.
  void refresh_icons();

 protected:
  void resizeEvent(QResizeEvent*) override;
  void changeEvent(QEvent*) override;

 private:
  void fit();
  void refresh_plans();
  void refresh_freshness();
  Document& document_;
  Session& session_;
  const Actions& actions_;
  Segment* perspective_;
  QStackedWidget* tools_;
  Field* plan_;
  QPushButton *simulate_, *train_, *export_;
  QCheckBox* auto_;
  QLabel *key_ = nullptr, *chip_ = nullptr;
  QToolButton *undo_, *redo_;
  bool running_ = false, training_ = false, of_plan_ = true;
};

}  // namespace trainyard

#include "app/desktop/shell/tool_bar.h"

#include <QAction>
#include <QCheckBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QStackedWidget>
#include <QToolButton>

#include "app/desktop/controls/icons.h"
#include "app/desktop/controls/theme.h"
#include "app/desktop/controls/widgets.h"
#include "app/desktop/shell/perspective.h"

namespace trainyard {
namespace {

QStringList titles() {
  QStringList words;
  for (const Perspective& p : perspectives()) words << p.title;
  return words;
}

QToolButton* tool(QAction* action) {
  auto* button = new QToolButton;
  button->setFixedSize(28, 26);
  button->setDefaultAction(action);
  button->setToolButtonStyle(Qt::ToolButtonIconOnly);
  button->setAccessibleName(action->text());
  button->setFocusPolicy(Qt::TabFocus);
  return button;
}

}  // namespace

ToolBar::ToolBar(Document& document, Session& session, const Actions& actions, QWidget* parent)
    : QWidget(parent), document_(document), session_(session), actions_(actions) {
  setFixedHeight(kToolBarHeight - 1);
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
  perspective_ = new Segment("Perspective", titles());
  plan_ = new Field("Plan");
  plan_->setFixedHeight(26);
  // The selector shrinks first if the window is narrow or its text large, before any word is cut.
  plan_->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
  plan_->setMinimumContentsLength(24);
  plan_->setMinimumWidth(96);
  plan_->setMaximumWidth(180);
  simulate_ = new QPushButton("Simulate");
  simulate_->setProperty("kind", "primary");
  simulate_->setAccessibleName("Simulate");
  train_ = new QPushButton("Train…");
  train_->setAccessibleName("Train on this machine");
  train_->setToolTip(actions["run.start"]->toolTip());
  auto_ = new QCheckBox("Auto");
  auto_->setAccessibleName("Simulate after each change");
  auto_->setToolTip("Simulate after each change");
  chip_ = make_chip("", "plain");
  chip_->setAccessibleName("Freshness of the result");
  undo_ = tool(actions["edit.undo"]);
  redo_ = tool(actions["edit.redo"]);
  export_ = new QPushButton("Export");
  export_->setAccessibleName("Export view");
  auto* row = new QHBoxLayout(this);
  row->setContentsMargins(10, 0, 12, 0);
  row->setSpacing(12);
  row->addWidget(perspective_);
  row->addWidget(make_rule(20));
  auto* plans = new QWidget;
  auto* plans_row = new QHBoxLayout(plans);
  plans_row->setContentsMargins(0, 0, 0, 0);
  plans_row->setSpacing(12);
  plans_row->addWidget(make_label("Plan", 12, QFont::Normal, "third"));
  plans_row->addWidget(plan_);
  tools_ = new QStackedWidget;
  tools_->setSizePolicy(QSizePolicy::Maximum, QSizePolicy::Preferred);
  tools_->addWidget(plans);
  row->addWidget(tools_);
  row->addWidget(simulate_);
  row->addWidget(key_ = make_key("F5"));
  row->addWidget(auto_);
  row->addWidget(train_);
  row->addWidget(chip_);
  row->addStretch(1);
  row->addWidget(undo_);
  row->addWidget(redo_);
  row->addWidget(export_);
  connect(perspective_, &Segment::chosen, this, [this](int index) {
    document_.show_perspective(perspectives()[static_cast<std::size_t>(index)].id);
  });
  connect(plan_, &QComboBox::activated, &document_, &Document::show_plan);
  connect(simulate_, &QPushButton::clicked, this,
          [this] { actions_[running_ ? "simulate.stop" : "simulate.run"]->trigger(); });
  connect(train_, &QPushButton::clicked, this,
          [this] { actions_[training_ ? "run.stop" : "run.start"]->trigger(); });
  connect(auto_, &QCheckBox::toggled, &document_, &Document::set_automatic);
  connect(export_, &QPushButton::clicked, actions["export.view"], &QAction::trigger);
  for (const auto signal : {&Document::changed, &Document::view_changed})
    connect(&document_, signal, this, &ToolBar::refresh_plans);
  for (const auto signal : {&Session::experiment_changed, &Session::freshness_changed})
    connect(&session_, signal, this, &ToolBar::refresh_freshness);
  refresh_icons();
  refresh_plans();
  refresh_freshness();
}

void ToolBar::refresh_icons() {
  const Theme theme = current_theme();
  simulate_->setIcon(icon(running_ ? "stop" : "play", qcolor(Ink::OnAccent, theme)));
  simulate_->setIconSize(QSize(1, 1) * ui_pixels(14));
  train_->setIcon(icon(training_ ? "stop" : "play", qcolor(Ink::Text, theme)));
  train_->setIconSize(QSize(1, 1) * ui_pixels(14));
  export_->setIcon(icon("export", qcolor(Ink::Text, theme)));
  actions_["edit.undo"]->setIcon(icon("undo", qcolor(Ink::Text, theme)));
  actions_["edit.redo"]->setIcon(icon("redo", qcolor(Ink::Text, theme)));
}

// What has a key of its own gives way before any word is cut.
void ToolBar::fit() {
  if (key_ == nullptr) return;  // still being made
  key_->setVisible(of_plan_);
  undo_->show(), redo_->show();
  for (QWidget* part : std::initializer_list<QWidget*>{key_, redo_, undo_}) {
    layout()->invalidate();
    if (layout()->minimumSize().width() <= width()) return;
    part->hide();
  }
}

void ToolBar::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  fit();
}

void ToolBar::changeEvent(QEvent* event) {
  QWidget::changeEvent(event);
  if (event->type() == QEvent::FontChange || event->type() == QEvent::StyleChange) fit();
}

void ToolBar::set_running(bool running) {
  running_ = running;
  simulate_->setText(running ? "Stop" : "Simulate");
  refresh_icons();
  refresh_freshness();
}

void ToolBar::set_training(bool training) {
  if (training_ == training) return;  // called at every frame of a run
  training_ = training;
  train_->setText(training ? "Stop training" : "Train…");
  train_->setVisible(of_plan_ || training_);
  refresh_icons();
}

void ToolBar::show_plan_buttons(bool show) {
  of_plan_ = show;
  simulate_->setVisible(show);
  auto_->setVisible(show);
  fit();
  train_->setVisible(show || training_);
  refresh_freshness();
}

void ToolBar::show_tools(QWidget* tools) {
  if (tools != nullptr && tools_->indexOf(tools) < 0) tools_->addWidget(tools);
  tools_->setCurrentIndex(tools == nullptr ? 0 : tools_->indexOf(tools));
  // A stack is as wide as its widest page requires, even while another is shown.
  for (int i = 0; i < tools_->count(); ++i) {
    const auto policy = i == tools_->currentIndex() ? QSizePolicy::Preferred : QSizePolicy::Ignored;
    tools_->widget(i)->setSizePolicy(policy, QSizePolicy::Preferred);
  }
}

void ToolBar::refresh_plans() {
  const Project& project = document_.project();
  const QSignalBlocker quiet(plan_);
  plan_->clear();
  for (const ProjectPlan& plan : project.plans) plan_->addItem(plan_title(plan));
  plan_->setCurrentIndex(project.current);
  plan_->setEnabled(!project.plans.empty());
  simulate_->setEnabled(!project.model.empty());
  train_->setEnabled(!project.model.empty());
  export_->setEnabled(session_.experiment() != nullptr);
  for (std::size_t i = 0; i < perspectives().size(); ++i)
    if (project.perspective == perspectives()[i].id) perspective_->set_current(static_cast<int>(i));
  auto_->setChecked(project.automatic);
}

void ToolBar::refresh_freshness() {
  export_->setEnabled(session_.experiment() != nullptr);
  chip_->setVisible(of_plan_ &&
                    (session_.experiment() || running_ || !session_.outcome().error.empty()));
  const auto say = [&](const QString& text, const char* tone) {
    chip_->setText(text);
    set_tone(chip_, tone);
    layout()->activate();  // before the next frame, or texts are cut for a moment
  };
  if (!session_.outcome().error.empty()) return say("not simulated", "error");
  if (session_.stale() || !session_.experiment())
    return say(running_ ? "simulating" : "stale: plan changed", "plain");
  say(QString("fresh · %1 ms")
          .arg(session_.outcome().milliseconds, 0, 'f',
               session_.outcome().milliseconds < 10 ? 1 : 0),
      "ok");
}

}  // namespace trainyard

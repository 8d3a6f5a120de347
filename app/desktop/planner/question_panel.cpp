#include "app/desktop/planner/question_panel.h"

#include <QLabel>
#include <QProgressBar>
#include <QPushButton>
#include <QScrollArea>
#include <QVBoxLayout>

#include "app/desktop/controls/icons.h"
#include "app/desktop/controls/theme.h"
#include "app/desktop/controls/widgets.h"

namespace trainyard {

QuestionPanel::QuestionPanel(const Words& words, int width, QWidget* parent) : QWidget(parent) {
  setObjectName("panel");
  setAttribute(Qt::WA_StyledBackground);
  setFixedWidth(width);
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  auto* head = new Header(words.title);
  state_ = make_label("", 11, QFont::Normal, "third");
  head->row()->addWidget(state_);
  column->addWidget(head);
  auto* lines = new QVBoxLayout;
  lines->setContentsMargins(10, 8, 10, 8);
  lines->setSpacing(6);
  count_ = make_label("", 13, QFont::DemiBold);
  count_->setAccessibleName(words.count_name);
  bar_ = new QProgressBar;
  bar_->setTextVisible(false);
  bar_->setFixedHeight(5);
  bar_->setAccessibleName(words.progress_name);
  now_ = make_label("", 11, QFont::Normal, "third");
  error_ = make_label("", 11, QFont::Normal, "error");
  error_->setAccessibleName(words.error_name);
  for (QLabel* label : {now_, error_}) {
    label->setTextFormat(Qt::PlainText);
    label->setWordWrap(true);
  }
  run_ = new QPushButton;
  run_->setProperty("kind", "primary");
  run_->setIconSize({14, 14});
  for (QWidget* each : std::initializer_list<QWidget*>{count_, bar_, now_, error_, run_})
    lines->addWidget(each);
  column->addLayout(lines);
  scroll_ = new QScrollArea;
  scroll_->setObjectName("panel");
  scroll_->setFrameShape(QFrame::NoFrame);
  scroll_->setWidgetResizable(true);
  scroll_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  scroll_->setAccessibleName(words.fields_name);
  scroll_->setFocusPolicy(Qt::NoFocus);
  column->addWidget(scroll_, 1);
  connect(run_, &QPushButton::clicked, this, [this] { running_ ? Q_EMIT stop() : Q_EMIT start(); });
}

void QuestionPanel::set_fields(QWidget* fields) { scroll_->setWidget(fields); }

void QuestionPanel::show_run(bool running, const QString& words, const QString& name,
                             const char* start_icon) {
  running_ = running;
  run_->setText(words);
  run_->setAccessibleName(name);
  run_->setIcon(icon(running ? "stop" : start_icon, qcolor(Ink::OnAccent, current_theme())));
  bar_->setVisible(running);
}

void QuestionPanel::show_wrong(const QString& sentence) {
  error_->setText(sentence);
  error_->setVisible(!sentence.isEmpty());
}

}  // namespace trainyard

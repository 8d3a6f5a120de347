#include "app/desktop/controls/search_bar.h"

#include <QHBoxLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QToolButton>

#include "app/desktop/controls/theme.h"
#include "app/desktop/controls/widgets.h"
#include "visualizers/viewmodel/format.h"

namespace trainyard {
namespace {

constexpr int kBarHeight = 32;

QToolButton* make_button(const QString& text, const QString& name) {
  auto* button = new QToolButton;
  button->setText(text);
  button->setAccessibleName(name);
  button->setToolTip(name);
  button->setAutoRaise(true);
  return button;
}

}  // namespace

SearchBar::SearchBar(Exploration& exploration, QWidget* parent)
    : QWidget(parent),
      exploration_(exploration),
      what_(make_label("Find", 11, QFont::Medium, "second")),
      edit_(new QLineEdit),
      told_(make_label("", 11, QFont::Normal, "second")),
      previous_(make_button("\u2191", "Previous match, Shift+Enter")),
      next_(make_button("\u2193", "Next match, Enter")),
      close_(make_button("\u00D7", "Close the bar, Esc")) {
  setObjectName("header");
  setAttribute(Qt::WA_StyledBackground);
  setFixedHeight(kBarHeight);
  auto* row = new QHBoxLayout(this);
  row->setContentsMargins(10, 3, 8, 3);
  row->setSpacing(8);
  edit_->setAccessibleName("Find spans");
  edit_->setFixedWidth(340);
  edit_->setClearButtonEnabled(true);
  edit_->installEventFilter(this);
  told_->setAccessibleName("What was found");
  for (QWidget* part : std::initializer_list<QWidget*>{what_, edit_, previous_, next_, told_})
    row->addWidget(part);
  row->addStretch(1);
  row->addWidget(close_);
  connect(edit_, &QLineEdit::textEdited, this, [this] {
    if (mode_ == Mode::Find) exploration_.search(edit_->text());
    if (mode_ == Mode::GoTo) told_->clear();
  });
  connect(previous_, &QToolButton::clicked, this, [this] { enter(-1); });
  connect(next_, &QToolButton::clicked, this, [this] { enter(+1); });
  connect(close_, &QToolButton::clicked, this, &SearchBar::close_bar);
  connect(&exploration_, &Exploration::search_changed, this, &SearchBar::refresh);
  connect(&exploration_, &Exploration::search_wanted, this, &SearchBar::find);
  hide();
}

void SearchBar::find() { open(Mode::Find); }
void SearchBar::go_to_time() { open(Mode::GoTo); }

void SearchBar::open(Mode mode) {
  mode_ = mode;
  const bool finds = mode == Mode::Find;
  what_->setText(finds ? "Find" : "Go to");
  edit_->setAccessibleName(finds ? "Find spans" : "Go to time");
  edit_->setPlaceholderText(finds ? "cat:comm dev:3 name:allreduce >5ms" : "1.25 s or 30 %");
  edit_->setText(finds ? exploration_.words() : QString());
  previous_->setVisible(finds);
  next_->setVisible(finds);
  refresh();
  show();
  edit_->setFocus(Qt::ShortcutFocusReason);
  edit_->selectAll();
}

void SearchBar::refresh() {
  if (mode_ == Mode::GoTo) return told_->clear();
  if (!edit_->hasFocus() && edit_->text() != exploration_.words())
    edit_->setText(exploration_.words());
  const bool wrong = !exploration_.problem().isEmpty();
  set_tone(told_, wrong ? "error" : "second");
  const auto count = static_cast<std::int64_t>(exploration_.hits());
  const QString all = QString::fromStdString(format_count(count));
  if (wrong)
    told_->setText(exploration_.problem());
  else if (exploration_.words().isEmpty())
    told_->setText("");
  else if (exploration_.hit() > 0)
    told_->setText(QString("%1 of %2")
                       .arg(QString::fromStdString(
                           format_count(static_cast<std::int64_t>(exploration_.hit()))))
                       .arg(all));
  else
    told_->setText(count == 1 ? "1 span" : all + " spans");
}

void SearchBar::enter(int by) {
  if (mode_ == Mode::Find) {
    exploration_.step_hit(by);
    return exploration_.record(false);
  }
  const QString wrong = exploration_.go_to(edit_->text());
  if (wrong.isEmpty()) return close_bar();
  set_tone(told_, "error");
  told_->setText(wrong);
}

void SearchBar::close_bar() {
  hide();
  if (mode_ == Mode::Find) exploration_.search({});
  Q_EMIT closed();
}

void SearchBar::keyPressEvent(QKeyEvent* event) {
  if (event->key() == Qt::Key_Escape) return close_bar();
  QWidget::keyPressEvent(event);
}

bool SearchBar::eventFilter(QObject* watched, QEvent* event) {
  if (event->type() != QEvent::KeyPress) return QWidget::eventFilter(watched, event);
  const auto* key = static_cast<QKeyEvent*>(event);
  if (key->key() != Qt::Key_Return && key->key() != Qt::Key_Enter)
    return QWidget::eventFilter(watched, event);
  enter(key->modifiers() & Qt::ShiftModifier ? -1 : +1);
  return true;
}

}  // namespace trainyard

#include "app/desktop/dialogs/palette_dialog.h"

#include <QAction>
#include <QKeyEvent>
#include <QLineEdit>
#include <QListWidget>
#include <QVBoxLayout>

namespace trainyard {
namespace {

bool matches(const QString& text, const QString& words) {
  for (const QString& word : words.split(' ', Qt::SkipEmptyParts))
    if (!text.contains(word, Qt::CaseInsensitive)) return false;
  return true;
}

}  // namespace

PaletteDialog::PaletteDialog(QWidget* window)
    : QDialog(window), words_(new QLineEdit), list_(new QListWidget) {
  setWindowTitle("Search commands");
  setModal(true);
  resize(460, 360);
  for (QAction* action : window->actions())
    if (!action->text().isEmpty()) actions_ << action;
  words_->setPlaceholderText("Search or run a command");
  words_->setAccessibleName("Words of a command");
  words_->installEventFilter(this);
  list_->setAccessibleName("Commands found");
  auto* column = new QVBoxLayout(this);
  column->addWidget(words_);
  column->addWidget(list_);
  connect(words_, &QLineEdit::textChanged, this, &PaletteDialog::filter);
  connect(words_, &QLineEdit::returnPressed, this, &PaletteDialog::run);
  connect(list_, &QListWidget::itemActivated, this, &PaletteDialog::run);
  filter("");
}

QStringList PaletteDialog::offered() const {
  QStringList texts;
  for (int i = 0; i < list_->count(); ++i)
    texts << list_->item(i)->data(Qt::UserRole + 1).toString();
  return texts;
}

void PaletteDialog::filter(const QString& words) {
  list_->clear();
  for (int i = 0; i < actions_.size(); ++i) {
    const QAction& action = *actions_[i];
    if (!action.isEnabled() || !matches(action.text() + " " + action.toolTip(), words)) continue;
    const QString keys = action.shortcut().toString(QKeySequence::NativeText);
    auto* item = new QListWidgetItem(action.text() + (keys.isEmpty() ? "" : "     " + keys), list_);
    item->setData(Qt::UserRole, i);
    item->setData(Qt::UserRole + 1, action.text());
    item->setToolTip(action.toolTip());
  }
  list_->setCurrentRow(0);
}

void PaletteDialog::run() {
  const QListWidgetItem* item = list_->currentItem();
  if (item == nullptr) return;
  QAction* action = actions_[item->data(Qt::UserRole).toInt()];
  accept();
  action->trigger();
}

bool PaletteDialog::eventFilter(QObject* watched, QEvent* event) {
  if (event->type() == QEvent::KeyPress) {
    const int key = static_cast<QKeyEvent*>(event)->key();
    const int step = key == Qt::Key_Down ? 1 : key == Qt::Key_Up ? -1 : 0;
    if (step != 0) {
      list_->setCurrentRow(qBound(0, list_->currentRow() + step, list_->count() - 1));
      return true;
    }
  }
  return QDialog::eventFilter(watched, event);
}

}  // namespace trainyard

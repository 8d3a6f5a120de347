#include "app/desktop/dialogs/palette_dialog.h"

#include <QAction>
#include <QHeaderView>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QTreeWidget>
#include <QVBoxLayout>

#include <algorithm>
#include <utility>
#include <vector>

namespace trainyard {
namespace {

constexpr int kKey = Qt::UserRole + 1, kValue = Qt::UserRole + 2;  // of a setting

// How well an action answers to the words: 0 if its title begins with them, 1 if each begins a word
// of the title, 2 if the title contains them, 3 if only the help does, -1 if nothing does.
int rank_of(const QAction& action, const QString& typed) {
  const QStringList words = typed.split(' ', Qt::SkipEmptyParts);
  const QString title = action.text(), all = title + " " + action.toolTip();
  const auto each = [&](const auto& holds) {
    return std::all_of(words.begin(), words.end(), holds);
  };
  const auto begins_word = [&](const QString& word) {
    return (" " + title).contains(" " + word, Qt::CaseInsensitive);
  };
  const auto in_title = [&](const QString& word) {
    return title.contains(word, Qt::CaseInsensitive);
  };
  if (title.startsWith(typed.simplified(), Qt::CaseInsensitive)) return 0;
  if (each(begins_word)) return 1;
  if (each(in_title)) return 2;
  return each([&](const QString& word) { return all.contains(word, Qt::CaseInsensitive); }) ? 3
                                                                                            : -1;
}

}  // namespace

PaletteDialog::PaletteDialog(QWidget* window, PaletteSettings settings)
    : QDialog(window),
      settings_(std::move(settings)),
      words_(new QLineEdit),
      list_(new QTreeWidget),
      about_(new QLabel) {
  setWindowTitle("Search commands");
  setModal(true);
  resize(520, 400);
  for (QAction* action : window->actions())
    if (!action->text().isEmpty()) actions_ << action;
  words_->setPlaceholderText(settings_.keys.isEmpty()
                                 ? "Search or run a command"
                                 : "Search or run a command, or set a setting, as tp=8");
  words_->setAccessibleName("Words of a command");
  words_->installEventFilter(this);
  list_->setAccessibleName("Commands found");
  list_->setColumnCount(2);
  list_->setHeaderHidden(true);
  list_->setRootIsDecorated(false);
  list_->header()->setStretchLastSection(false);
  list_->header()->setSectionResizeMode(0, QHeaderView::Stretch);
  list_->header()->setSectionResizeMode(1, QHeaderView::ResizeToContents);
  auto* column = new QVBoxLayout(this);
  column->addWidget(words_);
  column->addWidget(list_);
  column->addWidget(about_);
  about_->setWordWrap(true);
  about_->setTextFormat(Qt::PlainText);
  about_->setAlignment(Qt::AlignTop);
  about_->setFixedHeight(3 * about_->fontMetrics().lineSpacing());
  connect(list_, &QTreeWidget::currentItemChanged, this, [this](const QTreeWidgetItem* item) {
    about_->setText(item == nullptr ? QString() : item->toolTip(0));
  });
  connect(words_, &QLineEdit::textChanged, this, &PaletteDialog::filter);
  connect(words_, &QLineEdit::returnPressed, this, &PaletteDialog::run);
  connect(list_, &QTreeWidget::itemActivated, this, &PaletteDialog::run);
  filter("");
}

QStringList PaletteDialog::offered() const {
  QStringList texts;
  for (int i = 0; i < list_->topLevelItemCount(); ++i)
    if (!list_->topLevelItem(i)->isDisabled()) texts << list_->topLevelItem(i)->text(0);
  return texts;
}

// The best answers come first; what cannot run now comes last, pale.
void PaletteDialog::filter(const QString& words) {
  if (!settings_.keys.isEmpty() && words.contains('=')) return offer_value(words);
  struct Found {
    int rank;
    int index;
  };
  std::vector<Found> found;
  for (int i = 0; i < actions_.size(); ++i) {
    const int rank = rank_of(*actions_[i], words);
    if (rank >= 0) found.push_back({actions_[i]->isEnabled() ? rank : rank + 10, i});
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const Found& a, const Found& b) { return a.rank < b.rank; });
  list_->clear();
  for (const Found& each : found) {
    const QAction& action = *actions_[each.index];
    auto* item = new QTreeWidgetItem(
        list_, {action.text(), action.shortcut().toString(QKeySequence::NativeText)});
    item->setData(0, Qt::UserRole, each.index);
    item->setToolTip(0, action.toolTip());
    item->setTextAlignment(1, Qt::AlignRight | Qt::AlignVCenter);
    item->setDisabled(!action.isEnabled());
  }
  if (!words.trimmed().isEmpty()) offer_keys(words);
  list_->setCurrentItem(list_->topLevelItem(0));
}

// A value that the key cannot have is said, and not set.
void PaletteDialog::offer_value(const QString& assignment) {
  list_->clear();
  const qsizetype equals = assignment.indexOf('=');
  const QString key = assignment.left(equals).trimmed(),
                value = assignment.mid(equals + 1).trimmed();
  const QString wrong =
      value.isEmpty() ? QString("type the value of %1").arg(key) : settings_.refusal(key, value);
  auto* item = new QTreeWidgetItem(
      list_, {wrong.isEmpty() ? QString("Set %1 to %2").arg(key, value) : wrong, ""});
  item->setToolTip(0, item->text(0));
  item->setData(0, kKey, key);
  item->setData(0, kValue, value);
  item->setDisabled(!wrong.isEmpty());
  list_->setCurrentItem(item);
  about_->setText(item->toolTip(0));  // a line that is disabled does not become the current one
}

void PaletteDialog::offer_keys(const QString& words) {
  const QStringList each = words.split(' ', Qt::SkipEmptyParts);
  for (const PaletteSettings::Key& setting : settings_.keys) {
    const QString all = setting.key + " " + setting.doc;
    if (!std::all_of(each.begin(), each.end(),
                     [&](const QString& word) { return all.contains(word, Qt::CaseInsensitive); }))
      continue;
    auto* item = new QTreeWidgetItem(list_, {setting.key + "=", "setting"});
    item->setToolTip(0, setting.doc);
    item->setTextAlignment(1, Qt::AlignRight | Qt::AlignVCenter);
    item->setData(0, kKey, setting.key);
  }
  if (list_->currentItem() == nullptr) list_->setCurrentItem(list_->topLevelItem(0));
}

void PaletteDialog::run() {
  const QTreeWidgetItem* item = list_->currentItem();
  if (item == nullptr || item->isDisabled()) return;
  if (const QString key = item->data(0, kKey).toString(); !key.isEmpty()) {
    const QString value = item->data(0, kValue).toString();
    if (value.isEmpty()) return words_->setText(key + "=");
    accept();
    return settings_.set(key, value);
  }
  QAction* action = actions_[item->data(0, Qt::UserRole).toInt()];
  accept();
  action->trigger();
}

bool PaletteDialog::eventFilter(QObject* watched, QEvent* event) {
  if (event->type() == QEvent::KeyPress) {
    const int key = static_cast<QKeyEvent*>(event)->key();
    const int step = key == Qt::Key_Down ? 1 : key == Qt::Key_Up ? -1 : 0;
    if (step != 0) {
      const int row = list_->indexOfTopLevelItem(list_->currentItem()) + step;
      list_->setCurrentItem(
          list_->topLevelItem(std::clamp(row, 0, std::max(0, list_->topLevelItemCount() - 1))));
      return true;
    }
  }
  return QDialog::eventFilter(watched, event);
}

}  // namespace trainyard

#include "app/desktop/dialogs/model_dialog.h"

#include <QDialogButtonBox>
#include <QHeaderView>
#include <QKeyEvent>
#include <QLineEdit>
#include <QPushButton>
#include <QTreeWidget>
#include <QVBoxLayout>

#include "app/desktop/controls/text.h"
#include "core/model/zoo/presets.h"
#include "core/model/zoo/zoo.h"
#include "visualizers/viewmodel/format.h"

namespace trainyard {
namespace {

constexpr int kWord = Qt::UserRole;

bool answers(const QTreeWidgetItem& item, const QString& words) {
  const QString row = item.text(0) + " " + item.text(1) + " " + item.text(2);
  for (const QString& word : words.split(' ', Qt::SkipEmptyParts))
    if (!row.contains(word, Qt::CaseInsensitive)) return false;
  return true;
}

}  // namespace

ModelDialog::ModelDialog(QWidget* parent)
    : QDialog(parent), words_(new QLineEdit), list_(new QTreeWidget) {
  setWindowTitle("Choose a model");
  setModal(true);
  resize(720, 520);
  words_->setPlaceholderText("Search models");
  words_->setAccessibleName("Words of a model");
  words_->installEventFilter(this);
  list_->setAccessibleName("Models");
  list_->setHeaderLabels({"Model", "Parameters", "About"});
  list_->setRootIsDecorated(true);
  list_->setUniformRowHeights(true);
  auto* fresh = new QTreeWidgetItem(list_, {"Build a new one"});
  for (const Preset& preset : presets())
    add(fresh, {q(preset.title), "", q(preset.doc)}, q(preset.name));
  auto* zoo_group = new QTreeWidgetItem(list_, {"Published models"});
  for (const ZooEntry& entry : zoo())
    add(zoo_group,
        {q(entry.name), q(format_large(static_cast<double>(entry.parameters))), q(entry.source)},
        q(entry.name));
  for (QTreeWidgetItem* group : {fresh, zoo_group}) {
    group->setExpanded(true);
    group->setFlags(Qt::ItemIsEnabled);
  }
  list_->header()->setSectionResizeMode(0, QHeaderView::ResizeToContents);
  list_->header()->setSectionResizeMode(1, QHeaderView::ResizeToContents);
  auto* buttons = new QDialogButtonBox;
  auto* open = buttons->addButton("Open", QDialogButtonBox::AcceptRole);
  buttons->addButton("Cancel", QDialogButtonBox::RejectRole);
  open->setDefault(true);
  auto* column = new QVBoxLayout(this);
  column->addWidget(words_);
  column->addWidget(list_, 1);
  column->addWidget(buttons);
  connect(words_, &QLineEdit::textChanged, this, &ModelDialog::filter);
  connect(list_, &QTreeWidget::itemActivated, this, &ModelDialog::accept_chosen);
  connect(list_, &QTreeWidget::currentItemChanged, open,
          [this, open] { open->setEnabled(!chosen().isEmpty()); });
  connect(buttons, &QDialogButtonBox::accepted, this, &ModelDialog::accept_chosen);
  connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
  filter("");
}

void ModelDialog::add(QTreeWidgetItem* group, const QStringList& cells, const QString& word) {
  auto* item = new QTreeWidgetItem(group, cells);
  item->setData(0, kWord, word);
  item->setToolTip(2, cells.last());
  item->setTextAlignment(1, Qt::AlignRight | Qt::AlignVCenter);
}

void ModelDialog::filter(const QString& words) {
  QTreeWidgetItem* first = nullptr;
  for (int g = 0; g < list_->topLevelItemCount(); ++g) {
    QTreeWidgetItem* group = list_->topLevelItem(g);
    bool any = false;
    for (int i = 0; i < group->childCount(); ++i) {
      const bool shown = answers(*group->child(i), words);
      group->child(i)->setHidden(!shown);
      any = any || shown;
      if (shown && first == nullptr) first = group->child(i);
    }
    group->setHidden(!any);
  }
  list_->setCurrentItem(first);
}

void ModelDialog::choose(const QString& word) {
  list_->setCurrentItem(nullptr);
  for (QTreeWidgetItemIterator it(list_); *it != nullptr; ++it)
    if ((*it)->data(0, kWord).toString() == word) list_->setCurrentItem(*it);
}

QString ModelDialog::chosen() const {
  const QTreeWidgetItem* item = list_->currentItem();
  return item == nullptr || item->isHidden() ? QString() : item->data(0, kWord).toString();
}

bool ModelDialog::is_new() const {
  return !chosen().isEmpty() && list_->currentItem()->parent() == list_->topLevelItem(0);
}

void ModelDialog::accept_chosen() {
  if (!chosen().isEmpty()) accept();
}

// The arrow keys walk through the list while the words are typed.
bool ModelDialog::eventFilter(QObject* watched, QEvent* event) {
  if (event->type() == QEvent::KeyPress) {
    const int key = static_cast<QKeyEvent*>(event)->key();
    if (key == Qt::Key_Down || key == Qt::Key_Up) {
      QTreeWidgetItem* now = list_->currentItem();
      QTreeWidgetItem* next = now == nullptr        ? nullptr
                              : key == Qt::Key_Down ? list_->itemBelow(now)
                                                    : list_->itemAbove(now);
      if (next != nullptr && next->data(0, kWord).toString().isEmpty())
        next = key == Qt::Key_Down ? list_->itemBelow(next) : list_->itemAbove(next);
      if (next != nullptr) list_->setCurrentItem(next);
      return true;
    }
  }
  return QDialog::eventFilter(watched, event);
}

}  // namespace trainyard

#include "app/desktop/dialogs/recovery_dialog.h"

#include <QDateTime>
#include <QDialogButtonBox>
#include <QFileInfo>
#include <QHeaderView>
#include <QLabel>
#include <QPushButton>
#include <QTreeWidget>
#include <QVBoxLayout>

#include "app/desktop/controls/widgets.h"

namespace trainyard {
namespace {

QString file_of(const LostWork& work) {
  return work.end.last.file.empty()
             ? QString("untitled")
             : QFileInfo(QString::fromStdString(work.end.last.file)).fileName();
}

}  // namespace

QString lost_work_title(const LostWork& work) {
  return file_of(work) + ", " + QString::fromStdString(work.end.last.edit);
}

RecoveryDialog::RecoveryDialog(std::vector<LostWork> works, QWidget* parent)
    : QDialog(parent), works_(std::move(works)), list_(new QTreeWidget) {
  setWindowTitle("Recover unsaved work");
  setModal(true);
  resize(620, 300);
  auto* column = new QVBoxLayout(this);
  auto* story =
      make_label("Trainyard closed unexpectedly. Its journal kept these edits:", 12, QFont::Normal);
  story->setWordWrap(true);
  column->addWidget(story);
  list_->setAccessibleName("Unsaved work");
  list_->setRootIsDecorated(false);
  list_->setHeaderLabels({"project", "last", "edits", "when"});
  for (std::size_t i = 0; i < works_.size(); ++i) {
    const LostWork& work = works_[i];
    auto* item = new QTreeWidgetItem(
        list_, {file_of(work), QString::fromStdString(work.end.last.edit),
                QString::number(work.end.entries),
                QFileInfo(work.journal).lastModified().toString("yyyy-MM-dd HH:mm")});
    item->setData(0, Qt::UserRole, static_cast<int>(i));
    item->setToolTip(0, QString::fromStdString(work.end.last.file));
  }
  list_->header()->setSectionResizeMode(QHeaderView::ResizeToContents);
  list_->setCurrentItem(list_->topLevelItem(0));
  column->addWidget(list_, 1);
  auto* buttons = new QDialogButtonBox;
  auto* recover = buttons->addButton("Recover", QDialogButtonBox::AcceptRole);
  recover->setDefault(true);
  auto* discard = buttons->addButton("Discard", QDialogButtonBox::DestructiveRole);
  buttons->addButton("Later", QDialogButtonBox::RejectRole);
  column->addWidget(buttons);
  connect(buttons, &QDialogButtonBox::accepted, this, &QDialog::accept);
  connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
  connect(discard, &QPushButton::clicked, this, &RecoveryDialog::give_up);
  connect(list_, &QTreeWidget::itemActivated, this, &QDialog::accept);
}

std::optional<LostWork> RecoveryDialog::chosen() const {
  const QTreeWidgetItem* item = list_->currentItem();
  if (item == nullptr) return std::nullopt;
  return works_[static_cast<std::size_t>(item->data(0, Qt::UserRole).toInt())];
}

void RecoveryDialog::give_up() {
  if (const auto work = chosen()) {
    forget(*work);
    delete list_->currentItem();
  }
  if (list_->topLevelItemCount() == 0) reject();
}

}  // namespace trainyard
